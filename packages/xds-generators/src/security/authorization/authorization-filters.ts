import { create } from "@bufbuild/protobuf";
import {
  type Policy,
  PolicySchema,
  type RBAC,
  RBAC_Action,
  RBACSchema,
} from "@istiod/envoy-api/envoy/config/rbac/v3/rbac";
import { type Filter, FilterSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { ExtAuthzSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/ext_authz/v3/ext_authz";
import { RBACSchema as HttpRbacSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/rbac/v3/rbac";
import { ExtAuthzSchema as TcpExtAuthzSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/ext_authz/v3/ext_authz";
import {
  type HttpFilter,
  HttpFilterSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { RBACSchema as TcpRbacSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/rbac/v3/rbac";
import { anyPack } from "@bufbuild/protobuf/wkt";
import type { ApplicablePolicies, ApplicablePolicy } from "@istiod/push-context";
import { packAny } from "../../envoy/any.js";
import {
  customPolicyPrefix,
  customShadowPrefix,
  type ExternalAuthorization,
  httpRbacFilter,
  networkRbacFilter,
} from "./external-authorization.js";
import { anyPermission, notPermission } from "./permission.js";
import { anyPrincipal, notPrincipal, type PeerIdentitySource } from "./principal.js";
import { rulePolicy } from "./rule-policy.js";
import type { TrustDomains } from "./trust-domains.js";

export interface AuthorizationOptions {
  readonly trustDomains: TrustDomains;
  readonly identity: PeerIdentitySource;
}

export interface CustomAuthorizationOptions extends AuthorizationOptions {
  readonly provider: (name: string) => ExternalAuthorization | undefined;
  /** Whether one workload may ask several providers; otherwise, policies of several deny what they select. */
  readonly allowsMultipleProviders: boolean;
}

/** RBAC filters of AUDIT, DENY and ALLOW policies, in that order, for chains with an HTTP connection manager. */
export function httpAuthorizationFilters(
  policies: ApplicablePolicies,
  options: AuthorizationOptions,
): readonly HttpFilter[] {
  return rbacConfigs(policies, options, false).map((rules) =>
    httpFilter(httpRbacFilter, packAny(HttpRbacSchema, rules)),
  );
}

/** The same for chains of plain TCP. */
export function tcpAuthorizationFilters(
  policies: ApplicablePolicies,
  options: AuthorizationOptions,
): readonly Filter[] {
  return rbacConfigs(policies, options, true).map((rules) =>
    tcpFilter(networkRbacFilter, packAny(TcpRbacSchema, { ...rules, statPrefix: "tcp." })),
  );
}

/**
 * For each provider that CUSTOM policies name, an RBAC filter that only notes which policy applies, and the ext_authz filter that
 * acts on the note. A provider that cannot be asked denies what its policies select.
 * Source: pilot/pkg/security/authz/builder.
 */
export function httpCustomAuthorizationFilters(
  policies: readonly ApplicablePolicy[],
  options: CustomAuthorizationOptions,
): readonly HttpFilter[] {
  return customRules(policies, options, false).flatMap(({ denied, noted, dryRun, external }) => {
    if (denied !== undefined) return [httpFilter(httpRbacFilter, packAny(HttpRbacSchema, { rules: denied }))];
    return [
      httpFilter(
        httpRbacFilter,
        packAny(HttpRbacSchema, {
          shadowRules: noted,
          shadowRulesStatPrefix: customShadowPrefix,
          ...(dryRun && { rules: dryRun }),
        }),
      ),
      httpFilter("envoy.filters.http.ext_authz", anyPack(ExtAuthzSchema, external.http)),
    ];
  });
}

/** The same for chains of plain TCP; policies of providers over HTTP do not apply there. */
export function tcpCustomAuthorizationFilters(
  policies: readonly ApplicablePolicy[],
  options: CustomAuthorizationOptions,
): readonly Filter[] {
  return customRules(policies, options, true).flatMap(({ denied, noted, dryRun, external }) => {
    if (denied !== undefined)
      return [tcpFilter(networkRbacFilter, packAny(TcpRbacSchema, { rules: denied, statPrefix: "tcp." }))];
    if (external.tcp === undefined) return [];
    const shadow = {
      shadowRules: noted,
      statPrefix: "tcp.",
      shadowRulesStatPrefix: customShadowPrefix,
      ...(dryRun && { rules: dryRun }),
    };
    return [
      tcpFilter(networkRbacFilter, packAny(TcpRbacSchema, shadow)),
      tcpFilter("envoy.filters.network.ext_authz", anyPack(TcpExtAuthzSchema, external.tcp)),
    ];
  });
}

const matchNothing: Policy = create(PolicySchema, {
  permissions: [notPermission(anyPermission)],
  principals: [notPrincipal(anyPrincipal)],
});

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
        // The original names the prefix of ALLOW where nothing is on trial.
        shadowRulesStatPrefix: dryRun.length > 0 ? shadowPrefix : "istio_dry_run_allow_",
      },
    ];
  });
}

type CustomRules =
  | { readonly denied: RBAC; readonly noted?: undefined; readonly dryRun?: undefined; readonly external?: undefined }
  | {
      readonly denied?: undefined;
      readonly noted: RBAC;
      readonly dryRun: RBAC | undefined;
      readonly external: ExternalAuthorization;
    };

function customRules(
  policies: readonly ApplicablePolicy[],
  options: CustomAuthorizationOptions,
  tcp: boolean,
): readonly CustomRules[] {
  const names = [...new Set(policies.map(({ provider }) => provider))].sort();
  return names.map((name) => {
    const own = policies.filter(({ provider }) => provider === name);
    const prefix = name === "" ? "istio-ext-authz-" : `${customPolicyPrefix(name)}-`;
    const noted = rbacRules(
      RBAC_Action.DENY,
      own.filter((policy) => !policy.dryRun),
      prefix,
      options,
      tcp,
    );
    const external = names.length > 1 && !options.allowsMultipleProviders ? undefined : options.provider(name);
    if (external === undefined) return { denied: denyRules(noted) };
    const dryRun = rbacRules(
      RBAC_Action.DENY,
      own.filter((policy) => policy.dryRun),
      prefix,
      options,
      tcp,
    );
    return { noted, dryRun: Object.keys(dryRun.policies).length > 0 ? dryRun : undefined, external };
  });
}

function denyRules(rules: RBAC): RBAC {
  const policies = Object.fromEntries(
    Object.entries(rules.policies).map(([name, policy]) => [`${name}-deny-due-to-bad-CUSTOM-action`, policy]),
  );
  return create(RBACSchema, { action: RBAC_Action.DENY, policies });
}

function rbacRules(
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

function httpFilter(name: string, typedConfig: ReturnType<typeof packAny>): HttpFilter {
  return create(HttpFilterSchema, { name, configType: { case: "typedConfig", value: typedConfig } });
}

function tcpFilter(name: string, typedConfig: ReturnType<typeof packAny>): Filter {
  return create(FilterSchema, { name, configType: { case: "typedConfig", value: typedConfig } });
}
