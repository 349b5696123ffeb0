import { isJsonObject, type ApiObject, type JsonObject } from "../storage/object.js";
import type { UserInfo } from "../storage/server-state.js";
import type { Store } from "../storage/store.js";

/** The access that a request needs. */
export interface Access {
  /** For example `list`, or of a path the method in lower case. */
  readonly verb: string;
  /** Undefined for resources. */
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  /** Undefined or empty for all namespaces and cluster-scoped resources. */
  readonly namespace?: string;
  readonly name?: string;
}

export interface Decision {
  readonly allowed: boolean;
  readonly reason: string;
}

export const mastersGroup = "system:masters";
const rbacGroup = "rbac.authorization.k8s.io";
const denied: Decision = { allowed: false, reason: "" };

/** Decides by the Roles, ClusterRoles and bindings that are stored. Members of `system:masters` may do everything. */
export function authorizeByRoles(store: Store, user: UserInfo, access: Access): Decision {
  if (user.groups.includes(mastersGroup)) return { allowed: true, reason: "" };
  for (const binding of store.values(`${rbacGroup}/clusterrolebindings`)) {
    const decision = decideByBinding(store, binding, user, access);
    if (decision.allowed) return decision;
  }
  if (access.path !== undefined || (access.namespace ?? "") === "") return denied;
  for (const binding of store.values(`${rbacGroup}/rolebindings`)) {
    if (binding.metadata.namespace !== access.namespace) continue;
    const decision = decideByBinding(store, binding, user, access);
    if (decision.allowed) return decision;
  }
  return denied;
}

function decideByBinding(store: Store, binding: ApiObject, user: UserInfo, access: Access): Decision {
  const { namespace, name = "" } = binding.metadata;
  const subject = objectsIn(binding.subjects).find((candidate) => isSubject(candidate, user, namespace));
  const roleRef = isJsonObject(binding.roleRef) ? binding.roleRef : {};
  if (subject === undefined) return denied;
  const isRole = roleRef.kind === "Role";
  const role = isRole
    ? store.get(`${rbacGroup}/roles`, `${namespace ?? ""}/${String(roleRef.name)}`)
    : store.get(`${rbacGroup}/clusterroles`, String(roleRef.name));
  if (!objectsIn(role?.rules).some((rule) => allows(rule, access))) return denied;
  const where = namespace === undefined ? `ClusterRoleBinding "${name}"` : `RoleBinding "${name}/${namespace}"`;
  const who = `${String(subject.kind)} "${String(subject.name)}"`;
  const reason = `RBAC: allowed by ${where} of ${String(roleRef.kind)} "${String(roleRef.name)}" to ${who}`;
  return { allowed: true, reason };
}

function isSubject(subject: JsonObject, { username, groups }: UserInfo, namespace: string | undefined): boolean {
  if (subject.kind === "User") return subject.name === username;
  if (subject.kind === "Group") return groups.includes(String(subject.name));
  const own = String(subject.namespace ?? namespace ?? "");
  return subject.kind === "ServiceAccount" && username === `system:serviceaccount:${own}:${String(subject.name)}`;
}

function allows(rule: JsonObject, { verb, path, group, resource = "", subresource, name = "" }: Access): boolean {
  if (!includes(rule.verbs, verb)) return false;
  if (path !== undefined) return stringsIn(rule.nonResourceURLs).some((pattern) => matchesPath(pattern, path));
  const full = subresource === undefined || subresource === "" ? resource : `${resource}/${subresource}`;
  const ofSubresource = `*/${subresource ?? ""}`;
  const hasResource =
    includes(rule.resources, full) || (subresource !== undefined && stringsIn(rule.resources).includes(ofSubresource));
  const names = stringsIn(rule.resourceNames);
  return hasResource && includes(rule.apiGroups, group ?? "") && (names.length === 0 || names.includes(name));
}

const matchesPath = (pattern: string, path: string): boolean =>
  pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : pattern === path;

const stringsIn = (value: unknown): readonly string[] => (Array.isArray(value) ? (value as string[]) : []);
const includes = (value: unknown, item: string): boolean => {
  const items = stringsIn(value);
  return items.includes("*") || items.includes(item);
};
const objectsIn = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
