import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { type RBAC, RBAC_Action, RBACSchema } from "@istiod/envoy-api/envoy/config/rbac/v3/rbac";
import { ExtAuthzSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/ext_authz/v3/ext_authz";
import { RBACSchema as HttpRbacSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/rbac/v3/rbac";
import { ExtAuthzSchema as TcpExtAuthzSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/ext_authz/v3/ext_authz";
import { RBACSchema as TcpRbacSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/rbac/v3/rbac";
import type { ApplicablePolicy } from "@istiod/push-context";
import { packAny } from "../../envoy/any.js";
import { type Filter, type HttpFilter, httpFilter, networkFilter } from "../../envoy/filters.js";
import {
  customPolicyPrefix,
  customShadowPrefix,
  type ExternalAuthorization,
  httpRbacFilter,
  networkRbacFilter,
} from "./external-authorization.js";
import { type AuthorizationOptions, rbacRules } from "./rbac-rules.js";

export interface CustomAuthorizationOptions extends AuthorizationOptions {
  readonly provider: (name: string) => ExternalAuthorization | undefined;
  /** True if a workload may use several providers; otherwise policies with several providers deny. */
  readonly allowsMultipleProviders: boolean;
}

/**
 * For each provider of CUSTOM policies, a shadow RBAC filter that records the matching policy, and the ext_authz filter
 * that it enables. Policies with an invalid provider deny.
 * Source: pilot/pkg/security/authz/builder.
 */
export function httpCustomAuthorizationFilters(
  policies: readonly ApplicablePolicy[],
  options: CustomAuthorizationOptions,
): readonly HttpFilter[] {
  return customRules(policies, options, false).flatMap((custom) => {
    if (custom.denyRules !== undefined)
      return [httpFilter(httpRbacFilter, packAny(HttpRbacSchema, { rules: custom.denyRules }))];
    const { shadowRules, dryRun, external } = custom;
    return [
      httpFilter(
        httpRbacFilter,
        packAny(HttpRbacSchema, {
          shadowRules,
          shadowRulesStatPrefix: customShadowPrefix,
          ...(dryRun && { rules: dryRun }),
        }),
      ),
      httpFilter("envoy.filters.http.ext_authz", anyPack(ExtAuthzSchema, external.http)),
    ];
  });
}

/** The same filters for TCP chains. HTTP providers do not apply there. */
export function tcpCustomAuthorizationFilters(
  policies: readonly ApplicablePolicy[],
  options: CustomAuthorizationOptions,
): readonly Filter[] {
  return customRules(policies, options, true).flatMap((custom) => {
    if (custom.denyRules !== undefined)
      return [
        networkFilter(networkRbacFilter, packAny(TcpRbacSchema, { rules: custom.denyRules, statPrefix: "tcp." })),
      ];
    const { shadowRules, dryRun, external } = custom;
    if (external.tcp === undefined) return [];
    const shadow = {
      shadowRules,
      statPrefix: "tcp.",
      shadowRulesStatPrefix: customShadowPrefix,
      ...(dryRun && { rules: dryRun }),
    };
    return [
      networkFilter(networkRbacFilter, packAny(TcpRbacSchema, shadow)),
      networkFilter("envoy.filters.network.ext_authz", anyPack(TcpExtAuthzSchema, external.tcp)),
    ];
  });
}

/** The rules of one provider: to deny, if the provider is invalid, or to enable its ext_authz filter. */
type CustomRules =
  | { readonly denyRules: RBAC }
  | {
      readonly denyRules?: undefined;
      readonly shadowRules: RBAC;
      /** Undefined: no policy is a dry run. */
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
    const prefix = name === "" ? "istio-ext-authz-" : `${customPolicyPrefix(name)}-`;
    const rulesOf = (dryRun: boolean): RBAC => {
      const selected = policies.filter((policy) => policy.provider === name && policy.dryRun === dryRun);
      return rbacRules(RBAC_Action.DENY, selected, prefix, options, tcp);
    };
    const shadowRules = rulesOf(false);
    const external = names.length > 1 && !options.allowsMultipleProviders ? undefined : options.provider(name);
    if (external === undefined) return { denyRules: toDenyRules(shadowRules) };
    const dryRun = rulesOf(true);
    return { shadowRules, dryRun: Object.keys(dryRun.policies).length > 0 ? dryRun : undefined, external };
  });
}

function toDenyRules(rules: RBAC): RBAC {
  const policies = Object.fromEntries(
    Object.entries(rules.policies).map(([name, policy]) => [`${name}-deny-due-to-bad-CUSTOM-action`, policy]),
  );
  return create(RBACSchema, { action: RBAC_Action.DENY, policies });
}
