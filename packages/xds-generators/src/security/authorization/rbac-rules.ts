import { create } from "@bufbuild/protobuf";
import {
  type Policy,
  PolicySchema,
  type RBAC,
  type RBAC_Action,
  RBACSchema,
} from "@istiod/envoy-api/envoy/config/rbac/v3/rbac";
import type { ApplicablePolicy } from "@istiod/push-context";
import { anyPermission, notPermission, type Permission } from "./permission.js";
import { anyPrincipal, notPrincipal, type PeerIdentitySource, type Principal } from "./principal.js";
import { rulePolicy } from "./rule-policy.js";
import type { TrustDomains } from "./trust-domains.js";

export interface AuthorizationOptions {
  readonly trustDomains: TrustDomains;
  readonly identity: PeerIdentitySource;
  /** See `rulePolicy`. */
  readonly canEvaluate?: (term: Permission | Principal) => boolean;
}

export function rbacRules(
  action: RBAC_Action,
  policies: readonly ApplicablePolicy[],
  prefix: string,
  options: AuthorizationOptions,
  tcp: boolean,
): RBAC {
  const out: Record<string, Policy> = {};
  for (const { namespace, name, rules } of policies) {
    const nameOf = (rule: number): string => `${prefix}ns[${namespace}]-policy[${name}]-rule[${rule}]`;
    if (rules.length === 0) out[nameOf(0)] = matchNothing;
    for (const [index, rule] of rules.entries()) {
      const policy = rulePolicy(rule, { ...options, action, tcp, policyNamespace: namespace });
      if (policy !== undefined) out[nameOf(index)] = policy;
    }
  }
  return create(RBACSchema, { action, policies: out });
}

const matchNothing: Policy = create(PolicySchema, {
  permissions: [notPermission(anyPermission)],
  principals: [notPrincipal(anyPrincipal)],
});
