import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Cluster, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  EnvoyFilter_Patch_Operation as Operation,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { clusterMatches } from "../match/cluster-match.js";
import { addsIn, patchesIn } from "../match/match.js";
import type { Effects, Patch, PatchContext, Patches } from "../patch.js";
import { mergeEncoded, mergeValue } from "./merge-value.js";
import { isMerge, valueOf } from "./named-list.js";
import { mergeClusterSocket } from "./transport-socket.js";

/** Returns the patches that may merge into or remove a cluster with this name. */
export function patchesOfCluster(
  patches: Patches,
  context: PatchContext,
  name: string,
  hosts: readonly string[],
): readonly Patch[] {
  return patchesIn(patches, ApplyTo.CLUSTER, context).filter(
    (patch) => (isMerge(patch) || patch.operation === Operation.REMOVE) && clusterMatches(patch, name, hosts),
  );
}

/**
 * Applies the patches that merge into a cluster or remove it, in place. Reports whether the cluster remains.
 *
 * @param hosts the hosts of an inbound cluster
 */
export function patchCluster(
  cluster: Cluster,
  patches: Patches,
  { context, hosts }: { readonly context: PatchContext; readonly hosts: readonly string[] },
  effects: Effects,
): boolean {
  for (const patch of patchesIn(patches, ApplyTo.CLUSTER, context)) {
    if (!clusterMatches(patch, cluster.name, hosts)) continue;
    if (patch.operation === Operation.REMOVE) {
      effects.apply(patch, () => true);
      return false;
    }
    if (isMerge(patch)) effects.apply(patch, () => mergeIntoCluster(cluster, patch));
  }
  return true;
}

/**
 * Applies patches to an encoded cluster. Returns undefined if it is removed. It is decoded only if a patch depends on
 * its content: for a transport socket, a new name, or replaced lists.
 */
export function patchEncodedCluster(
  bytes: Uint8Array,
  name: string,
  patches: Patches,
  place: { readonly context: PatchContext; readonly hosts: readonly string[] },
  effects: Effects,
): { readonly name: string; readonly bytes: Uint8Array } | undefined {
  const matching = patchesOfCluster(patches, place.context, name, place.hosts);
  if (matching.every(appends)) {
    let merged = bytes;
    for (const patch of matching)
      effects.apply(patch, () => void (merged = mergeEncoded(ClusterSchema, merged, patch)));
    return { name, bytes: merged };
  }
  const cluster = fromBinary(ClusterSchema, bytes);
  if (!patchCluster(cluster, patches, place, effects)) return undefined;
  return { name: cluster.name, bytes: toBinary(ClusterSchema, cluster) };
}

function appends({ operation, value }: Patch): boolean {
  const cluster = value as Cluster | undefined;
  return operation === Operation.MERGE && cluster?.transportSocket === undefined && cluster?.name === "";
}

function mergeIntoCluster(cluster: Cluster, patch: Patch): void {
  if (patch.value !== undefined && mergeClusterSocket(cluster, patch.value as Cluster)) return;
  mergeValue(ClusterSchema, cluster, patch);
}

/** Returns the clusters that patches add in a context, with the patches. */
export function addedClusters(
  patches: Patches,
  context: PatchContext,
): readonly { readonly patch: Patch; readonly cluster: Cluster }[] {
  return (patches[ApplyTo.CLUSTER] ?? [])
    .filter((patch) => patch.operation === Operation.ADD && addsIn(patch, context))
    .map((patch) => ({ patch, cluster: valueOf(ClusterSchema, patch) as Cluster }));
}
