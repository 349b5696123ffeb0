import {
  type TrafficExtensionObject,
  trafficExtensions,
  trafficExtensionsByNamespace,
  type WasmPluginObject,
  wasmPlugins,
  wasmPluginsByNamespace,
} from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import type { LuaConfig, TrafficSelector, WasmConfig } from "@istiod/istio-api/extensions/v1alpha1/traffic_extension";
import { PluginType, type WasmPlugin } from "@istiod/istio-api/extensions/v1alpha1/wasm";
import { oldestFirst } from "../attachment/oldest-first.js";
import type { TargetedPolicy } from "../attachment/policy-attachment.js";

/** A Wasm module and its configuration. WasmPlugin and TrafficExtension have the same fields. */
export type WasmModule = Pick<
  WasmConfig,
  "url" | "sha256" | "imagePullPolicy" | "imagePullSecret" | "pluginConfig" | "pluginName" | "failStrategy" | "vmConfig"
>;

/** A filter that users add to proxies: a WasmPlugin, or a TrafficExtension for Wasm or Lua. */
export interface Extension extends TargetedPolicy {
  /** The name of the filter and of its configuration. */
  readonly resourceName: string;
  /** `namespace.name`, by which Envoy and its logs name it. */
  readonly pluginName: string;
  readonly creationTimestamp: number;
  readonly name: string;
  readonly resourceVersion: string;
  /** Value of ExecutionPhase or PluginPhase, which are equal. */
  readonly phase: number;
  /** Higher values come first; undefined comes last. */
  readonly priority: number | undefined;
  readonly match: readonly Pick<TrafficSelector, "mode" | "ports">[];
  readonly type: "http" | "network";
  readonly config:
    | { readonly case: "wasm"; readonly value: WasmModule }
    | { readonly case: "lua"; readonly value: LuaConfig };
}

/** Start of the names of filters. Source: pilot/pkg/model/extensions.go. */
const namePrefix = "extensions.istio.io/trafficextension/";
/** End of the names of WasmPlugins, which no TrafficExtension can have. Source: pilot/pkg/config/kube/extensions. */
const wasmPluginSuffix = "~istio-translated-wasmplugin";

/** The namespaces that have extensions. */
export const extensionNamespaces = query("extensionNamespaces", (q): readonly string[] =>
  [...new Set([...q.keys(trafficExtensionsByNamespace), ...q.keys(wasmPluginsByNamespace)])].sort(),
);

/** The extensions of a namespace, the oldest first. */
export const namespaceExtensions = query("namespaceExtensions", (q, namespace: string): readonly Extension[] =>
  [
    ...q.read(trafficExtensionsByNamespace, namespace).flatMap((object) => fromTrafficExtension(object) ?? []),
    ...q.read(wasmPluginsByNamespace, namespace).map(fromWasmPlugin),
  ].sort(oldestFirst),
);

/** The extension with a resource name. */
export const extension = query("extension", (q, resourceName: string): Extension | undefined => {
  const at = resourceName.indexOf(".", namePrefix.length);
  if (!resourceName.startsWith(namePrefix) || at < 0) return undefined;
  const namespace = resourceName.slice(namePrefix.length, at);
  const name = resourceName.slice(at + 1);
  if (name.endsWith(wasmPluginSuffix)) {
    const plugin = q.read(wasmPlugins, `${namespace}/${name.slice(0, -wasmPluginSuffix.length)}`);
    return plugin && fromWasmPlugin(plugin);
  }
  const object = q.read(trafficExtensions, `${namespace}/${name}`);
  return object && fromTrafficExtension(object);
});

function fromTrafficExtension(object: TrafficExtensionObject): Extension | undefined {
  const { selector, targetRefs, phase, priority, match, filterConfig } = object.spec;
  const common = { ...identityOf(object, object.name), selector, targetRefs, phase, priority, match } as const;
  if (filterConfig.case === "lua") return { ...common, type: "http", config: filterConfig };
  if (filterConfig.case !== "wasm") return undefined;
  const module = filterConfig.value;
  return { ...common, type: typeOf(module.type), config: { case: "wasm", value: moduleOf(module) } };
}

function fromWasmPlugin(object: WasmPluginObject): Extension {
  const { selector, targetRef, targetRefs, phase, priority, match, type } = object.spec;
  return {
    ...identityOf(object, `${object.name}${wasmPluginSuffix}`),
    ...{ selector, targetRef, targetRefs, phase, priority },
    match: match.map(({ mode, ports }) => ({ mode, ports })),
    type: typeOf(type),
    config: { case: "wasm", value: moduleOf(object.spec) },
  };
}

function typeOf(type: PluginType): Extension["type"] {
  return type === PluginType.NETWORK ? "network" : "http";
}

function moduleOf(spec: WasmConfig | WasmPlugin): WasmModule {
  const { url, sha256, imagePullPolicy, imagePullSecret, pluginConfig, pluginName, failStrategy, vmConfig } = spec;
  return {
    ...{ url, sha256, imagePullPolicy, imagePullSecret, pluginName, failStrategy },
    ...(pluginConfig && { pluginConfig }),
    ...(vmConfig && { vmConfig }),
  };
}

function identityOf(object: TrafficExtensionObject | WasmPluginObject, name: string) {
  const { namespace, creationTimestamp, resourceVersion = "" } = object;
  const pluginName = `${namespace}.${name}`;
  return {
    namespace,
    name,
    creationTimestamp,
    resourceVersion,
    pluginName,
    resourceName: `${namePrefix}${pluginName}`,
  };
}
