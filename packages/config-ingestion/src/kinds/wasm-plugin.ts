import { collection, index } from "@istiod/incremental";
import { WasmPluginSchema, type WasmPlugin } from "@istiod/istio-api/extensions/v1alpha1/wasm";
import type { ConfigObject } from "../config-object.js";
import { istioKind } from "./istio-kind.js";

export type WasmPluginObject = ConfigObject<WasmPlugin>;

export const wasmPlugins = collection<WasmPluginObject>("WasmPlugin");

export const wasmPluginsByNamespace = index(wasmPlugins, "byNamespace", (v) => [v.namespace]);

export const wasmPluginKind = istioKind({
  kind: "WasmPlugin",
  group: "extensions.istio.io",
  versions: ["v1alpha1"],
  schema: WasmPluginSchema,
  collection: wasmPlugins,
});
