import { create } from "@bufbuild/protobuf";
import { RBAC_Action } from "@istiod/envoy-api/envoy/config/rbac/v3/rbac";
import { RBACSchema as HttpRbacSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/rbac/v3/rbac";
import { query } from "@istiod/incremental";
import { RuleSchema } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { applicableAuthorizationPolicies, type ApplicablePolicy, rejectsAllRequests } from "@istiod/push-context";
import { packAny } from "../envoy/any.js";
import { type HttpFilter, httpFilter } from "../envoy/filters.js";
import type { Permission } from "../security/authorization/permission.js";
import type { Principal } from "../security/authorization/principal.js";
import { rbacRules } from "../security/authorization/rbac-rules.js";
import { authorizationOptions } from "../security/authorization/written-authorization.js";

/** Names of the filters, which must differ. Source: pilot/pkg/networking/grpcgen/lds.go. */
const denyFilter = "envoy.filters.http.rbac.DENY";
const allowFilter = "envoy.filters.http.rbac";

/**
 * The RBAC filters of a gRPC server, DENY before ALLOW.
 *
 * Attributes that gRPC cannot evaluate deny: an ALLOW rule with one is left out, and in a DENY rule the attribute is
 * ignored, so that the rule denies more. Servers cannot ask an external authorizer, so requests that a CUSTOM policy
 * would send to one are denied. AUDIT policies and dry runs have no effect.
 */
export const serverAuthorization = query("grpcServerAuthorization", (q): readonly HttpFilter[] => {
  const { deny, allow, custom } = q.call(applicableAuthorizationPolicies);
  const rejected = q.call(rejectsAllRequests) ? [denyAll] : [];
  return [
    ...rbacFilter(denyFilter, RBAC_Action.DENY, [...custom, ...deny, ...rejected]),
    ...rbacFilter(allowFilter, RBAC_Action.ALLOW, allow),
  ];

  function rbacFilter(name: string, action: RBAC_Action, policies: readonly ApplicablePolicy[]): readonly HttpFilter[] {
    const enforced = policies.filter(({ dryRun }) => !dryRun);
    if (enforced.length === 0) return [];
    const options = { ...authorizationOptions(q, "certificate"), canEvaluate };
    return [httpFilter(name, packAny(HttpRbacSchema, { rules: rbacRules(action, enforced, "", options, false) }))];
  }
});

/** Stands for a rejected RequestAuthentication, with which every request is rejected. */
const denyAll: ApplicablePolicy = {
  namespace: "",
  name: "rejected RequestAuthentication",
  dryRun: false,
  provider: "",
  rules: [create(RuleSchema)],
};

/** The terms that all libraries evaluate (gRFC A41). Of others, some libraries ignore them and some reject them. */
const permissions: ReadonlySet<Permission["rule"]["case"]> = new Set([
  "any",
  "andRules",
  "orRules",
  "notRule",
  "header",
  "urlPath",
  "destinationIp",
  "destinationPort",
]);
const principals: ReadonlySet<Principal["identifier"]["case"]> = new Set([
  "any",
  "andIds",
  "orIds",
  "notId",
  "authenticated",
  "directRemoteIp",
  "remoteIp",
  "header",
  "urlPath",
]);

/** Reports whether gRPC evaluates a term and all terms in it. */
function canEvaluate(term: Permission | Principal): boolean {
  return "rule" in term ? canEvaluatePermission(term) : canEvaluatePrincipal(term);
}

function canEvaluatePermission({ rule }: Permission): boolean {
  if (rule.case === "andRules" || rule.case === "orRules") return rule.value.rules.every(canEvaluatePermission);
  return rule.case === "notRule" ? canEvaluatePermission(rule.value) : permissions.has(rule.case);
}

function canEvaluatePrincipal({ identifier }: Principal): boolean {
  if (identifier.case === "andIds" || identifier.case === "orIds")
    return identifier.value.ids.every(canEvaluatePrincipal);
  return identifier.case === "notId" ? canEvaluatePrincipal(identifier.value) : principals.has(identifier.case);
}
