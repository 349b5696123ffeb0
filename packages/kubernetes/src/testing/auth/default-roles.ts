import type { ObjectInput } from "../storage/direct-objects.js";

const apiVersion = "rbac.authorization.k8s.io/v1";
const discoveryPaths = [
  "/api",
  "/api/*",
  "/apis",
  "/apis/*",
  "/healthz",
  "/livez",
  "/openapi",
  "/openapi/*",
  "/readyz",
];

const role = (name: string, rules: readonly object[]): ObjectInput => ({
  apiVersion,
  kind: "ClusterRole",
  metadata: { name },
  rules,
});

const binding = (name: string, group: string): ObjectInput => ({
  apiVersion,
  kind: "ClusterRoleBinding",
  metadata: { name },
  subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: group }],
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
});

const selfReviews = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"];

/** Roles that every server has: discovery and reviews of oneself for all users, everything for administrators. */
export const defaultRoles: readonly ObjectInput[] = [
  role("cluster-admin", [
    { apiGroups: ["*"], resources: ["*"], verbs: ["*"] },
    { nonResourceURLs: ["*"], verbs: ["*"] },
  ]),
  role("system:discovery", [{ nonResourceURLs: [...discoveryPaths, "/version", "/version/"], verbs: ["get"] }]),
  role("system:basic-user", [
    { apiGroups: ["authorization.k8s.io"], resources: selfReviews, verbs: ["create"] },
    { apiGroups: ["authentication.k8s.io"], resources: ["selfsubjectreviews"], verbs: ["create"] },
  ]),
  role("system:service-account-issuer-discovery", [
    { nonResourceURLs: ["/.well-known/openid-configuration", "/openid/v1/jwks"], verbs: ["get"] },
  ]),
  binding("cluster-admin", "system:masters"),
  binding("system:discovery", "system:authenticated"),
  binding("system:basic-user", "system:authenticated"),
  binding("system:service-account-issuer-discovery", "system:serviceaccounts"),
];
