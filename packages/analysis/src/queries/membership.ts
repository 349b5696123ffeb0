import { type Container, namespaces } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";

/** A pod or a pod template. */
interface PodLike {
  readonly cluster: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly containers: readonly Container[];
}

const injectionKey = "sidecar.istio.io/inject";

/** The name of the sidecar's container. */
export const proxyContainer = "istio-proxy";

/**
 * Reports whether a pod has a sidecar or will be injected one: by its containers, else by its label, else by its
 * annotation, else by the label of its namespace.
 */
export function isInMesh(q: QueryContext, pod: PodLike): boolean {
  if (hasProxy(pod.containers)) return true;
  const stated = statedInjection(pod);
  if (stated !== undefined) return stated === "true";
  return q.read(namespaces, `${pod.cluster}/${pod.namespace}`)?.labels["istio-injection"] === "enabled";
}

/** Reports whether the containers include a sidecar with an image. */
export function hasProxy(containers: readonly Container[]): boolean {
  return (containers.find(({ name }) => name === proxyContainer)?.image ?? "") !== "";
}

/**
 * Returns the value of `sidecar.istio.io/inject` of a pod, from its label, else its annotation; undefined if absent.
 */
export function statedInjection({ labels, annotations }: Pick<PodLike, "labels" | "annotations">): string | undefined {
  return labels[injectionKey] ?? annotations[injectionKey];
}
