import { collection, index } from "@istiod/incremental";
import { TelemetrySchema, type Telemetry } from "@istiod/istio-api/telemetry/v1alpha1/telemetry";
import type { ConfigObject } from "../config-object.js";
import { istioKind } from "./istio-kind.js";

export type TelemetryObject = ConfigObject<Telemetry>;

export const telemetries = collection<TelemetryObject>("Telemetry");

export const telemetriesByNamespace = index(telemetries, "byNamespace", (v) => [v.namespace]);

export const telemetryKind = istioKind({
  kind: "Telemetry",
  group: "telemetry.istio.io",
  versions: ["v1", "v1alpha1"],
  schema: TelemetrySchema,
  collection: telemetries,
});
