export { staticSource, type ResourceSets, type StaticClient, type StaticSource } from "../static-source.js";
export { XdsClient, type RawRequest, type XdsClientOptions } from "./xds-client.js";
export type { ReceivedResource, ReceivedResponse } from "./response.js";
export type { Address, Target } from "./channel.js";
export { EnvoyClient, type EnvoyClientOptions } from "./envoy-client.js";
