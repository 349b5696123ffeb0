import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { addedClusters, patchCluster, type PatchContext, type Patches, patchesOfCluster } from "@istiod/envoy-filter";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import type { QueryContext } from "@istiod/incremental";
import { type Resource, resource, ResourceSet } from "@istiod/resources";
import { clusterPatches } from "./client-patches.js";
import { encodePatched, type Patcher, patcherOf } from "./patcher.js";

/** Returns clusters with the client's patches in a context. */
export function patchClusters(q: QueryContext, context: PatchContext, clusters: ResourceSet): ResourceSet {
  return clusterPatcher(q, context)?.set(clusters) ?? clusters;
}

/**
 * Returns what patches clusters; undefined if nothing does.
 *
 * @param hosts the hosts of an inbound cluster
 */
export function clusterPatcher(
  q: QueryContext,
  context: PatchContext,
  hosts: readonly string[] = [],
): Patcher | undefined {
  const patches = q.call(clusterPatches, context);
  if (patches === undefined) return undefined;
  return patcherOf(patches, JSON.stringify([context, hosts]), (unpatched, effects) => {
    const place = { context, hosts };
    if (patchesOfCluster(patches, context, unpatched.name, hosts).length === 0) return unpatched;
    const cluster = fromBinary(ClusterSchema, unpatched.bytes);
    if (!patchCluster(cluster, patches, place, effects)) return undefined;
    return effects.changed ? encodePatched(ClusterSchema, cluster.name, cluster, unpatched) : unpatched;
  });
}

/** Returns the clusters that the client's patches add in a context. */
export function clustersAdded(q: QueryContext, context: PatchContext): readonly Resource[] {
  const patches: Patches | undefined = q.call(clusterPatches, context);
  if (patches === undefined) return [];
  return addedClusters(patches, context).map(({ cluster }) => resource(cluster.name, toBinary(ClusterSchema, cluster)));
}
