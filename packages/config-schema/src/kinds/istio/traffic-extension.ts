import { collection, index } from "@istiod/incremental";
import { TrafficExtensionSchema, type TrafficExtension } from "@istiod/istio-api/extensions/v1alpha1/traffic_extension";
import type { ConfigObject } from "../../config-object.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { luaFault } from "../../validation/lua/lua.js";
import type { Place } from "../../validation/place.js";
import { port, required, size, type Shape } from "../../validation/shape.js";
import { attachmentShape, checkAttachment } from "../../validation/targets.js";
import { istioKind } from "./istio-kind.js";
import { checkWasm, wasmShape } from "./wasm.js";

export type TrafficExtensionObject = ConfigObject<TrafficExtension>;

export const trafficExtensions = collection<TrafficExtensionObject>("TrafficExtension", {
  filter: discoveryNamespacesFilter,
});

export const trafficExtensionsByNamespace = index(trafficExtensions, "byNamespace", (v) => [v.namespace]);

const shape: Shape = {
  ...attachmentShape,
  lua: required("inlineCode"),
  "lua.inlineCode": size(1, 65536),
  ...wasmShape("wasm"),
  "match[].ports[]": required("number"),
  "match[].ports[].number": port,
};

export const trafficExtensionKind = istioKind({
  kind: "TrafficExtension",
  group: "extensions.istio.io",
  versions: ["v1alpha1"],
  schema: TrafficExtensionSchema,
  collection: trafficExtensions,
  hasVersions: true,
  shape,
  specRequired: true,
  validate,
});

/** Validates a spec as Istio's `ValidateTrafficExtension` does, and scripts as Envoy compiles them. */
function validate({ spec }: TrafficExtensionObject, place: Place): void {
  checkAttachment(spec, place);
  if (spec.filterConfig.case === undefined) place.error("is empty, expected wasm or lua");
  if (spec.filterConfig.case === "wasm") checkWasm(spec.filterConfig.value, place.at("wasm"));
  if (spec.filterConfig.case === "lua") {
    const fault = luaFault(spec.filterConfig.value.inlineCode);
    if (fault !== undefined) place.at("lua", "inlineCode").error(fault);
  }
}
