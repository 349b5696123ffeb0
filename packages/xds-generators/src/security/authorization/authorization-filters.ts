import { type RBAC, RBAC_Action } from "@istiod/envoy-api/envoy/config/rbac/v3/rbac";
import { RBACSchema as HttpRbacSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/rbac/v3/rbac";
import { RBACSchema as TcpRbacSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/rbac/v3/rbac";
import type { ApplicablePolicies, ApplicablePolicy } from "@istiod/push-context";
import { packAny } from "../../envoy/any.js";
import { type Filter, type HttpFilter, httpFilter, networkFilter } from "../../envoy/filters.js";
import { httpRbacFilter, networkRbacFilter } from "./external-authorization.js";
import { type AuthorizationOptions, rbacRules } from "./rbac-rules.js";

/** RBAC filters of AUDIT, DENY and ALLOW policies, in this order, for HTTP chains. */
export function httpAuthorizationFilters(
  policies: ApplicablePolicies,
  options: AuthorizationOptions,
): readonly HttpFilter[] {
  return rbacConfigs(policies, options, false).map((rules) =>
    httpFilter(httpRbacFilter, packAny(HttpRbacSchema, rules)),
  );
}

/** RBAC filters of AUDIT, DENY and ALLOW policies, in this order, for TCP chains. */
export function tcpAuthorizationFilters(
  policies: ApplicablePolicies,
  options: AuthorizationOptions,
): readonly Filter[] {
  return rbacConfigs(policies, options, true).map((rules) =>
    networkFilter(networkRbacFilter, packAny(TcpRbacSchema, { ...rules, statPrefix: "tcp." })),
  );
}

interface RbacConfig {
  readonly rules?: RBAC;
  readonly shadowRules?: RBAC;
  readonly shadowRulesStatPrefix: string;
}

function rbacConfigs(policies: ApplicablePolicies, options: AuthorizationOptions, tcp: boolean): readonly RbacConfig[] {
  const kinds = [
    { action: RBAC_Action.LOG, of: policies.audit, shadowPrefix: "" },
    { action: RBAC_Action.DENY, of: policies.deny, shadowPrefix: "istio_dry_run_deny_" },
    { action: RBAC_Action.ALLOW, of: policies.allow, shadowPrefix: "istio_dry_run_allow_" },
  ];
  return kinds.flatMap(({ action, of, shadowPrefix }) => {
    if (of.length === 0) return [];
    const enforced = of.filter((policy) => !policy.dryRun);
    const dryRun = of.filter((policy) => policy.dryRun);
    const translate = (list: readonly ApplicablePolicy[]): RBAC => rbacRules(action, list, "", options, tcp);
    return [
      {
        ...(enforced.length > 0 && { rules: translate(enforced) }),
        ...(dryRun.length > 0 && { shadowRules: translate(dryRun) }),
        // Istio uses the prefix of ALLOW if there is no dry run.
        shadowRulesStatPrefix: dryRun.length > 0 ? shadowPrefix : "istio_dry_run_allow_",
      },
    ];
  });
}
