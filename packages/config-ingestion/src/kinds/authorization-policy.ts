import { collection, index } from "@istiod/incremental";
import { AuthorizationPolicySchema, type AuthorizationPolicy } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import type { ConfigObject } from "../config-object.js";
import { istioKind } from "./istio-kind.js";

export type AuthorizationPolicyObject = ConfigObject<AuthorizationPolicy>;

export const authorizationPolicies = collection<AuthorizationPolicyObject>("AuthorizationPolicy");

export const authorizationPoliciesByNamespace = index(authorizationPolicies, "byNamespace", (v) => [v.namespace]);

export const authorizationPolicyKind = istioKind({
  kind: "AuthorizationPolicy",
  group: "security.istio.io",
  versions: ["v1", "v1beta1"],
  schema: AuthorizationPolicySchema,
  collection: authorizationPolicies,
});
