import { collection, index } from "@istiod/incremental";
import { TrafficExtensionSchema, type TrafficExtension } from "@istiod/istio-api/extensions/v1alpha1/traffic_extension";
import type { ConfigObject } from "../config-object.js";
import { istioKind } from "./istio-kind.js";

export type TrafficExtensionObject = ConfigObject<TrafficExtension>;

export const trafficExtensions = collection<TrafficExtensionObject>("TrafficExtension");

export const trafficExtensionsByNamespace = index(trafficExtensions, "byNamespace", (v) => [v.namespace]);

export const trafficExtensionKind = istioKind({
  kind: "TrafficExtension",
  group: "extensions.istio.io",
  versions: ["v1alpha1"],
  schema: TrafficExtensionSchema,
  collection: trafficExtensions,
});
