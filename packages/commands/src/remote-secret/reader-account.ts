import {
  ApiError,
  type ApiClient,
  applyObject,
  createObject,
  type KubernetesObject,
  readObject,
  type ResourceType,
} from "@istiod/kubernetes";

export const readerAccount = "istio-reader-service-account";

const core = (kind: string, plural: string, namespaced = true): ResourceType => ({
  group: "",
  version: "v1",
  kind,
  plural,
  namespaced,
});
const rbac = (kind: string, plural: string): ResourceType => ({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind,
  plural,
  namespaced: false,
});
const namespaces = core("Namespace", "namespaces", false);
const serviceAccounts = core("ServiceAccount", "serviceaccounts");
const clusterRoles = rbac("ClusterRole", "clusterroles");
const clusterRoleBindings = rbac("ClusterRoleBinding", "clusterrolebindings");

export interface AccountOptions {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly createServiceAccount: boolean;
  /** API group of ServiceExport and ServiceImport. */
  readonly multiClusterGroup: string;
}

/**
 * Creates the service account if it does not exist, with its namespace and the permissions to read a remote cluster.
 *
 * @throws Error if it does not exist and cannot be created
 */
export async function ensureAccount(client: ApiClient, options: AccountOptions): Promise<void> {
  const { namespace, serviceAccount: name, createServiceAccount } = options;
  if (await exists(client, serviceAccounts, { namespace, name })) return;
  const missing = `ServiceAccount ${namespace}/${name} does not exist`;
  if (!createServiceAccount)
    throw new Error(`${missing}: create it, or run with --create-service-account=true (hint: install Istio first)`);
  if (name !== readerAccount) throw new Error(`${missing}: create it, only ${readerAccount} can be created here`);
  if (!(await exists(client, namespaces, { name: namespace })))
    await createObject(client, namespaces, { metadata: { name: namespace } });
  const manager = { fieldManager: "istiod" };
  const labels = { app: "istio-reader", "app.kubernetes.io/name": "istio-reader" };
  await applyObject(client, serviceAccounts, { metadata: { name, namespace, labels } }, manager);
  const role = `istio-reader-clusterrole-${namespace}`;
  const reader = { metadata: { name: role, labels }, rules: readerRules(options.multiClusterGroup) };
  await applyObject<KubernetesObject>(client, clusterRoles, reader, manager);
  const binding = {
    metadata: { name: role, labels },
    roleRef: { apiGroup: clusterRoles.group, kind: clusterRoles.kind, name: role },
    subjects: [{ kind: serviceAccounts.kind, name, namespace }],
  };
  await applyObject<KubernetesObject>(client, clusterRoleBindings, binding, manager);
}

async function exists(
  client: ApiClient,
  type: ResourceType,
  name: { readonly namespace?: string; readonly name: string },
): Promise<boolean> {
  try {
    await readObject(client, type, name);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.code === "not-found") return false;
    throw error;
  }
}

/** Returns the rules of Istio's role for remote clusters, as in its chart `istio-discovery`. */
function readerRules(multiClusterGroup: string): readonly object[] {
  const read = ["get", "list", "watch"];
  const istioGroups = [
    "config.istio.io",
    "security.istio.io",
    "networking.istio.io",
    "authentication.istio.io",
    "rbac.istio.io",
    "telemetry.istio.io",
    "extensions.istio.io",
  ];
  const rule = (apiGroups: readonly string[], resources: readonly string[], verbs: readonly string[] = read) => ({
    apiGroups,
    resources,
    verbs,
  });
  return [
    rule(istioGroups, ["*"]),
    rule([""], ["endpoints", "pods", "services", "nodes", "replicationcontrollers", "namespaces"]),
    rule([""], ["secrets", "configmaps"]),
    rule(["networking.x-k8s.io", "gateway.networking.k8s.io"], ["gateways"]),
    rule(["apiextensions.k8s.io"], ["customresourcedefinitions"]),
    rule(["discovery.k8s.io"], ["endpointslices"]),
    rule([multiClusterGroup], ["serviceexports"], [...read, "create", "delete"]),
    rule([multiClusterGroup], ["serviceimports"]),
    rule(["apps"], ["replicasets"]),
    rule(["authentication.k8s.io"], ["tokenreviews"], ["create"]),
    rule(["authorization.k8s.io"], ["subjectaccessreviews"], ["create"]),
  ];
}
