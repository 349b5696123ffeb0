import { collection, index } from "@istiod/incremental";
import { WasmPluginSchema, type WasmPlugin } from "@istiod/istio-api/extensions/v1alpha1/wasm";
import type { ConfigObject } from "../../config-object.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import type { Place } from "../../validation/place.js";
import { port, required, type Shape } from "../../validation/shape.js";
import { attachmentShape, checkAttachment } from "../../validation/targets.js";
import { istioKind } from "./istio-kind.js";
import { checkWasm, wasmShape } from "./wasm.js";

export type WasmPluginObject = ConfigObject<WasmPlugin>;

export const wasmPlugins = collection<WasmPluginObject>("WasmPlugin", { filter: discoveryNamespacesFilter });

export const wasmPluginsByNamespace = index(wasmPlugins, "byNamespace", (v) => [v.namespace]);

const shape: Shape = {
  ...attachmentShape,
  ...wasmShape(""),
  "match[].ports[]": required("number"),
  "match[].ports[].number": port,
};

export const wasmPluginKind = istioKind({
  kind: "WasmPlugin",
  group: "extensions.istio.io",
  versions: ["v1alpha1"],
  schema: WasmPluginSchema,
  collection: wasmPlugins,
  hasVersions: true,
  shape,
  specRequired: true,
  validate,
});

/** Validates a spec as Istio's `ValidateWasmPlugin` does. */
function validate({ spec }: WasmPluginObject, place: Place): void {
  checkAttachment(spec, place);
  checkWasm(spec, place);
}
