export { type AbsentFilter } from "./apply/absent-filters.js";
export { addedClusters, patchCluster, patchEncodedCluster, patchesOfCluster } from "./apply/cluster.js";
export { addedListeners, type EncodedListener, ListenerPatcher } from "./apply/listener.js";
export type { ListenerPlace } from "./apply/listener-place.js";
export {
  patchEncodedRoutes,
  type RoutePatches,
  routePatchesOf,
  type RoutesPart,
  RoutesPatcher,
} from "./apply/route-configuration.js";
export { parseClusterName, type ClusterName } from "./match/cluster-name.js";
export { type GatewayPorts, type RoutePlace } from "./match/route-match.js";
export { mergeMessage, mergePacked, type ListMerge } from "./merge.js";
export { Effects, type Patch, type PatchContext, type PatchEffect, PatchError, type Patches } from "./patch.js";
export { checkPatches } from "./value/check-patches.js";
export { decodePatch } from "./value/decode-patch.js";
