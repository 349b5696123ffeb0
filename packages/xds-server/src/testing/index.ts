export { staticSource, type ResourceSets, type StaticClient, type StaticSource } from "../static-source.js";
export { XdsClient, type RawRequest, type XdsClientOptions } from "./xds-client.js";
export { decodeRequest, encodeRequest, type WireRequest } from "./request.js";
export {
  decodeResponse,
  outlineResponse,
  type ReceivedResource,
  type ReceivedResponse,
  type ResponseOutline,
} from "./response.js";
export { endpointsOf, routesOf } from "./references.js";
export type { Channel, ChannelEvents } from "./channel.js";
export { type Address } from "./grpc-channel.js";
export { openChannel, type Target } from "./open-channel.js";
export { EnvoyClient, type EnvoyClientOptions } from "./envoy-client.js";
export type { Refusal } from "./envoy-rules.js";
export { idle } from "./idle.js";
export { fakeCluster, fakeEdsCluster, fakeListener, fakeResource } from "./fake-resources.js";
export { type GroupMember, GroupSource } from "./group-source.js";
export { requestReader } from "./request-reader.js";
