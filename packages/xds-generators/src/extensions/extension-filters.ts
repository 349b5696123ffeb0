import { create } from "@bufbuild/protobuf";
import {
  ApiVersion,
  type ExtensionConfigSource,
  ExtensionConfigSourceSchema,
} from "@istiod/envoy-api/envoy/config/core/v3/config_source";
import { FilterSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { LuaSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/lua/v3/lua";
import { RBACSchema as HttpRbacSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/rbac/v3/rbac";
import { WasmSchema as HttpWasmSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/wasm/v3/wasm";
import { HttpFilterSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { RBACSchema as NetworkRbacSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/rbac/v3/rbac";
import { WasmSchema as NetworkWasmSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/wasm/v3/wasm";
import type { QueryContext } from "@istiod/incremental";
import { type ChainExtensions, extension } from "@istiod/push-context";
import { packAny } from "../envoy/any.js";
import { duration } from "../envoy/duration.js";
import { type Filter, type HttpFilter, httpFilter } from "../envoy/filters.js";

/**
 * Returns the HTTP filters of extensions, by their resource names. Lua is inline, Wasm is discovered (ECDS). Source:
 * pilot/pkg/networking/core/extension/extensionfilter.go.
 */
export function httpExtensionFilters(q: QueryContext, names: readonly string[]): readonly HttpFilter[] {
  return names.flatMap((name) => {
    const config = q.call(extension, name)?.config;
    if (config === undefined) return [];
    if (config.case === "lua") return [httpFilter(name, luaConfig(config.value.inlineCode))];
    return [create(HttpFilterSchema, { name, configType: { case: "configDiscovery", value: httpSource } })];
  });
}

/** Returns the extensions of a chain, in their order, where no filter is between them. */
export function allExtensions(extensions: ChainExtensions): readonly string[] {
  return [...extensions.beforeAuthentication, ...extensions.beforeAuthorization, ...extensions.afterAuthorization];
}

/** Returns the network filters of extensions, which are Wasm modules, by their resource names. */
export function networkExtensionFilters(names: readonly string[]): readonly Filter[] {
  return names.map((name) =>
    create(FilterSchema, { name, configType: { case: "configDiscovery", value: networkSource } }),
  );
}

function luaConfig(code: string) {
  return packAny(LuaSchema, { defaultSourceCode: { specifier: { case: "inlineString", value: code } } });
}

/** The agent replaces a module that it cannot fetch by a policy that denies, so that both types are accepted. */
const httpSource = discoveredConfig(HttpWasmSchema.typeName, HttpRbacSchema.typeName);
const networkSource = discoveredConfig(NetworkWasmSchema.typeName, NetworkRbacSchema.typeName);

/** The listener waits for its extensions without a timeout, since they may be critical for security. */
function discoveredConfig(...types: readonly string[]): ExtensionConfigSource {
  return create(ExtensionConfigSourceSchema, {
    configSource: {
      configSourceSpecifier: { case: "ads", value: {} },
      initialFetchTimeout: duration(0),
      resourceApiVersion: ApiVersion.V3,
    },
    typeUrls: types.map((type) => `type.googleapis.com/${type}`),
  });
}
