import { clone } from "@bufbuild/protobuf";
import type { Cluster } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { type TransportSocket, TransportSocketSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { FilterChain } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { mergePacked } from "../merge.js";
import { typedConfigOf } from "./merge-value.js";

/**
 * Merges the transport socket of a patch into a cluster's: into that of the same name, else in its place. Reports
 * whether the patch has one, in which case nothing else of it is merged. A cluster whose sockets depend on the
 * endpoint, none of which has the name, stays as it is: Envoy rejects one that has both.
 */
export function mergeClusterSocket(cluster: Cluster, patch: Cluster): boolean {
  const socket = patch.transportSocket;
  if (socket === undefined) return false;
  const matched = cluster.transportSocketMatches.find((match) => match.transportSocket?.name === socket.name);
  if (cluster.transportSocketMatches.length > 0) {
    if (matched?.transportSocket !== undefined) mergeSocket(matched.transportSocket, socket);
  } else if (cluster.transportSocket?.name === socket.name) mergeSocket(cluster.transportSocket, socket);
  else cluster.transportSocket = clone(TransportSocketSchema, socket);
  return true;
}

/**
 * Merges the transport socket of a patch into that of the same name of a filter chain. Reports whether it did, in which
 * case nothing else of the patch is merged.
 */
export function mergeChainSocket(chain: FilterChain, patch: FilterChain): boolean {
  if (patch.transportSocket === undefined || chain.transportSocket?.name !== patch.transportSocket.name) return false;
  mergeSocket(chain.transportSocket, patch.transportSocket);
  return true;
}

function mergeSocket(into: TransportSocket, from: TransportSocket): void {
  const [own, added] = [typedConfigOf(into), typedConfigOf(from)];
  if (own !== undefined && added !== undefined)
    into.configType = { case: "typedConfig", value: mergePacked(own, added) };
}
