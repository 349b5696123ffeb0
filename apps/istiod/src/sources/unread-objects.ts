import type { DirectorySource, KubernetesSource } from "@istiod/config-ingestion";
import { istioKinds, remoteKinds } from "@istiod/config-schema";

/** Describes the objects of a directory without effect by kind; undefined if there are none. */
export function unusedObjects(source: DirectorySource): string | undefined {
  const kinds = [...source.ignored()].sort().map(([kind, count]) => `${count} ${kind}`);
  const deployments = source.counts().get("Deployment");
  const analyzed = deployments === undefined ? [] : [`${deployments} Deployment (analyzed only)`];
  if (kinds.length + analyzed.length === 0) return undefined;
  return `objects without effect: ${[...analyzed, ...kinds].join(", ")}; files describe workloads by Pods and EndpointSlices`;
}

/** Describes the objects in the directory of another cluster that are not read there; undefined if there are none. */
export function ignoredObjects(cluster: string, source: DirectorySource): string | undefined {
  const kinds = [...source.ignored()]
    .filter(([kind]) => istioNames.has(kind))
    .map(([kind, count]) => `${count} ${kind}`);
  return kinds.length === 0
    ? undefined
    : `cluster ${cluster}: left out ${kinds.join(", ")}: Istio's configuration is read from --configDir`;
}

const istioNames = new Set(istioKinds.filter((kind) => !remoteKinds.includes(kind)).map(({ kind }) => kind));

/** Describes the custom resources that PILOT_IGNORE_RESOURCES excludes; undefined if there are none. */
export function ignoredResources(source: KubernetesSource): string | undefined {
  const names = source.ignoredResources();
  return names.length === 0 ? undefined : `excluded by PILOT_IGNORE_RESOURCES and not read: ${names.join(", ")}`;
}
