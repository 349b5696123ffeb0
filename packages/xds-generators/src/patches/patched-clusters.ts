import { toBinary } from "@bufbuild/protobuf";
import {
  addedClusters,
  patchEncodedCluster,
  type PatchContext,
  type Patches,
  patchesOfCluster,
} from "@istiod/envoy-filter";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import type { QueryContext } from "@istiod/incremental";
import { resource, ResourceSet } from "@istiod/resources";
import { clusterPatches } from "./client-patches.js";
import { patchedResource, type PatchedPart, type Patcher, patcherOf } from "./patcher.js";

/** Returns clusters with the client's patches. */
export function patchClusters(q: QueryContext, part: PatchedPart): ResourceSet {
  return clusterPatcher(q, part)?.set(part.set) ?? part.set;
}

/** Returns what patches a part of the client's clusters; undefined if nothing does. */
export function clusterPatcher(q: QueryContext, { context, hosts = [] }: PatchedPart): Patcher | undefined {
  if (context === undefined) return undefined;
  const patches = q.call(clusterPatches, context);
  if (patches === undefined) return undefined;
  return patcherOf(patches, JSON.stringify([context, hosts]), () => (unpatched, effects) => {
    const place = { context, hosts };
    if (patchesOfCluster(patches, context, unpatched.name, hosts).length === 0) return unpatched;
    const patched = patchEncodedCluster(unpatched.bytes, unpatched.name, patches, place, effects);
    if (patched === undefined) return undefined;
    return effects.changed ? patchedResource(patched.name, patched.bytes, unpatched) : unpatched;
  });
}

/** Returns the clusters that the client's patches add in a context. */
export function clustersAdded(q: QueryContext, context: PatchContext): ResourceSet {
  const patches: Patches | undefined = q.call(clusterPatches, context);
  if (patches === undefined) return ResourceSet.empty;
  return ResourceSet.of(
    addedClusters(patches, context).map(({ cluster }) => resource(cluster.name, toBinary(ClusterSchema, cluster))),
  );
}
