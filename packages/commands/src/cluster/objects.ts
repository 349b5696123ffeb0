import { matchesLabelSelector } from "@istiod/config-schema";
import {
  type ApiClient,
  ApiError,
  type KubernetesObject,
  readObject,
  type ResourceType,
  resourcePath,
} from "@istiod/kubernetes";

/** Creates a type of the core group, or of another one. */
function resource(kind: string, plural: string, more: Partial<ResourceType> = {}): ResourceType {
  return { group: "", version: "v1", kind, plural, namespaced: true, ...more };
}

const admission = { group: "admissionregistration.k8s.io", namespaced: false };

/** Types that commands read and write. */
export const resources = {
  namespaces: resource("Namespace", "namespaces", { namespaced: false }),
  nodes: resource("Node", "nodes", { namespaced: false }),
  pods: resource("Pod", "pods"),
  services: resource("Service", "services"),
  endpointSlices: resource("EndpointSlice", "endpointslices", { group: "discovery.k8s.io" }),
  configMaps: resource("ConfigMap", "configmaps"),
  secrets: resource("Secret", "secrets"),
  serviceAccounts: resource("ServiceAccount", "serviceaccounts"),
  events: resource("Event", "events"),
  mutatingWebhooks: resource("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", admission),
  validatingWebhooks: resource("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", admission),
  deployments: resource("Deployment", "deployments", { group: "apps" }),
  replicaSets: resource("ReplicaSet", "replicasets", { group: "apps" }),
  statefulSets: resource("StatefulSet", "statefulsets", { group: "apps" }),
  daemonSets: resource("DaemonSet", "daemonsets", { group: "apps" }),
  jobs: resource("Job", "jobs", { group: "batch" }),
  workloadGroups: resource("WorkloadGroup", "workloadgroups", { group: "networking.istio.io" }),
  definitions: resource("CustomResourceDefinition", "customresourcedefinitions", {
    group: "apiextensions.k8s.io",
    namespaced: false,
  }),
} as const;

/** Objects on a page of a list. */
const PAGE = 500;

/** Returns the objects of a type, by name. @param labelSelector in the syntax of kubectl. @throws ApiError */
export async function listObjects<T extends KubernetesObject>(
  client: ApiClient,
  type: ResourceType,
  { namespace, labelSelector }: { readonly namespace?: string | undefined; readonly labelSelector?: string } = {},
): Promise<T[]> {
  const found: T[] = [];
  let next: string | undefined;
  do {
    const page = await client.json<{ items: T[]; metadata?: { continue?: string } }>({
      path: resourcePath(type, namespace === undefined ? {} : { namespace }),
      query: { limit: PAGE, labelSelector, continue: next },
    });
    found.push(...page.items);
    next = page.metadata?.continue || undefined;
  } while (next !== undefined);
  return found.sort((a, b) => compareNames(keyOf(a), keyOf(b)));
}

function keyOf({ metadata }: KubernetesObject): string {
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}

function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Returns an object; undefined if there is none. @throws ApiError */
export async function findObject<T extends KubernetesObject>(
  client: ApiClient,
  type: ResourceType,
  name: { readonly namespace?: string; readonly name: string },
): Promise<T | undefined> {
  try {
    return (await readObject(client, type, name)) as T;
  } catch (error) {
    if (error instanceof ApiError && error.code === "not-found") return undefined;
    throw error;
  }
}

/** A Kubernetes label selector. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** Reports whether a selector matches labels. One that is absent matches everything; an invalid one nothing. */
export function selects(
  selector: LabelSelector | undefined,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  const expressions = matchExpressions.map((expression) => ({ ...expression, values: expression.values ?? [] }));
  return matchesLabelSelector({ matchLabels, matchExpressions: expressions }, labels ?? {});
}
