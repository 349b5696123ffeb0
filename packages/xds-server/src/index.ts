export type { Answer, OnDemandHandler, Peer, PeerTls, ResourceSource, SourceChange } from "./source.js";
export type * from "./events.js";
export type * from "./api.js";
export { defaultLimits, type LimitsByAuthentication, type StreamLimits } from "./limits/stream-limits.js";
export type { SubscribedNames } from "./subscribed-names.js";
export type {
  AttributedResponse,
  AttributedStream,
  Attribution,
  ShownChanges,
  StreamAttribution,
} from "./attribution.js";
export { createXdsServer } from "./xds-server.js";
export { serve } from "./serve.js";
export { fitConnections } from "./limits/connection-fit.js";
export type { ConnectionLimits } from "./limits/connection-table.js";
export type { LimitReason } from "./limits/limit-reason.js";
export { addressKey, identifyPeer, type PeerIdentity, type PeerKey } from "./limits/peer-key.js";
export { peerKey } from "./transport/peer.js";
export type { Call, CallHandler, DiscoveryMethod, OutgoingMessage } from "./transport/call.js";
export type { Body } from "./wire/body.js";
export type { Selection } from "./wire/body-cache.js";
export { requestOf, type XdsRequest } from "./wire/request.js";
export type { NameList, VersionList } from "./wire/names.js";
/** Type URLs, from the table in `@istiod/resources`. */
export { clusterType, endpointType, extensionConfigType, listenerType, routeType, secretType } from "@istiod/resources";
export { staticSource, type ResourceSets, type StaticClient, type StaticSource } from "./static-source.js";
