import type { KubernetesObject, ResourceType } from "@istiod/kubernetes";
import type { Cluster } from "./cluster.js";
import { findObject, type LabelSelector, listObjects, resources, selects } from "./objects.js";

/** The fields of a Pod that commands read. */
export interface Pod extends KubernetesObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly {
      readonly kind: string;
      readonly name: string;
      readonly controller?: boolean;
    }[];
  };
  readonly spec?: {
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    readonly securityContext?: { readonly runAsUser?: number };
  };
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly containerStatuses?: readonly { readonly name: string; readonly ready?: boolean }[];
    readonly initContainerStatuses?: readonly { readonly name: string; readonly ready?: boolean }[];
  };
}

interface Container {
  readonly name: string;
  readonly image?: string;
  readonly restartPolicy?: string;
  readonly ports?: readonly { readonly containerPort: number; readonly protocol?: string; readonly name?: string }[];
  readonly securityContext?: { readonly runAsUser?: number };
}

interface Workload extends KubernetesObject {
  readonly spec?: { readonly selector?: LabelSelector };
}

/** Returns the name of the workload of a Pod: the Deployment of its ReplicaSet, or another owner. Empty for none. */
export function workloadOf({ metadata }: Pod): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const hash = metadata.labels?.["pod-template-hash"];
  if (owner?.kind === "ReplicaSet" && hash !== undefined && owner.name.endsWith(`-${hash}`))
    return owner.name.slice(0, -hash.length - 1);
  return owner?.name ?? "";
}

/** The types of workloads, by the names that kubectl accepts. */
const workloadTypes: Readonly<Record<string, ResourceType>> = {
  deployment: resources.deployments,
  deployments: resources.deployments,
  deploy: resources.deployments,
  replicaset: resources.replicaSets,
  replicasets: resources.replicaSets,
  rs: resources.replicaSets,
  statefulset: resources.statefulSets,
  statefulsets: resources.statefulSets,
  sts: resources.statefulSets,
  daemonset: resources.daemonSets,
  daemonsets: resources.daemonSets,
  ds: resources.daemonSets,
  job: resources.jobs,
  jobs: resources.jobs,
};

const podTypes = new Set(["pod", "pods", "po"]);
const serviceTypes = new Set(["service", "services", "svc"]);

/**
 * Returns the Pod that a name of istioctl stands for: `name`, `name.namespace`, `pod/name`, or the first running one of
 * `deployment/name`, `service/name` and their like. A name with dots that a Pod has as it is means that Pod.
 *
 * @throws Error if there is none; ApiError
 */
export async function podOf(cluster: Cluster, given: string): Promise<Pod> {
  const [kind, rest] = given.includes("/") ? split(given, given.indexOf("/")) : ["pod", given];
  const type = kind.toLowerCase();
  for (const { name, namespace } of candidates(rest, cluster.namespace)) {
    const pod = podTypes.has(type)
      ? await findObject<Pod>(cluster.client, resources.pods, { namespace, name })
      : await podOfWorkload(cluster, type, { namespace, name }, given);
    if (pod !== undefined) return pod;
  }
  throw new Error(`${given}: there is no such ${podTypes.has(type) ? "Pod" : kind} in namespace ${cluster.namespace}`);
}

/** Returns the names that a text may mean: itself, and `name.namespace`. */
export function candidates(
  text: string,
  namespace: string,
): readonly { readonly name: string; readonly namespace: string }[] {
  const dot = text.lastIndexOf(".");
  const own = { name: text, namespace };
  if (dot <= 0 || dot === text.length - 1) return [own];
  const [name, other] = split(text, dot);
  return [own, { name, namespace: other }];
}

function split(text: string, at: number): [string, string] {
  return [text.slice(0, at), text.slice(at + 1)];
}

async function podOfWorkload(
  { client }: Cluster,
  type: string,
  name: { readonly namespace: string; readonly name: string },
  given: string,
): Promise<Pod | undefined> {
  const selector = serviceTypes.has(type)
    ? await serviceSelector(client, name)
    : await workloadSelector(client, type, name, given);
  if (selector === undefined) return undefined;
  const pods = await listObjects<Pod>(client, resources.pods, { namespace: name.namespace });
  const own = pods.filter(({ metadata }) => selects(selector, metadata.labels));
  const found = own.find(({ status }) => status?.phase === "Running") ?? own[0];
  if (found === undefined) throw new Error(`${given}: has no Pods`);
  return found;
}

async function serviceSelector(
  client: Cluster["client"],
  name: { readonly namespace: string; readonly name: string },
): Promise<LabelSelector | undefined> {
  interface Service extends KubernetesObject {
    readonly spec?: { readonly selector?: Readonly<Record<string, string>> };
  }
  const found = await findObject<Service>(client, resources.services, name);
  if (found === undefined) return undefined;
  const { selector } = found.spec ?? {};
  if (selector === undefined) throw new Error(`Service ${name.namespace}/${name.name}: has no selector`);
  return { matchLabels: selector };
}

async function workloadSelector(
  client: Cluster["client"],
  type: string,
  name: { readonly namespace: string; readonly name: string },
  given: string,
): Promise<LabelSelector | undefined> {
  const resource = workloadTypes[type];
  if (resource === undefined)
    throw new Error(`${given}: expected pod, service, deployment, replicaset, statefulset, daemonset or job`);
  return (await findObject<Workload>(client, resource, name))?.spec?.selector;
}
