import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Any, anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { answeringModule } from "@istiod/e2e";
import { AsyncDataSourceSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { TypedExtensionConfigSchema } from "@istiod/envoy-api/envoy/config/core/v3/extension";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { type Filter, FilterSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { RouterSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/router/v3/router";
import { WasmSchema as HttpWasmSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/wasm/v3/wasm";
import {
  HttpConnectionManagerSchema,
  HttpFilterSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { TcpProxySchema } from "@istiod/envoy-api/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy";
import { WasmSchema as NetworkWasmSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/wasm/v3/wasm";
import type { PluginConfig } from "@istiod/envoy-api/envoy/extensions/wasm/v3/wasm";
import { type Resource, resource } from "@istiod/resources";

const code = create(AsyncDataSourceSchema, {
  specifier: {
    case: "local",
    value: { specifier: { case: "inlineBytes", value: Uint8Array.from(answeringModule(200, "a")) } },
  },
});

/**
 * Returns a listener with the filter of an extension configuration, as it is once it is discovered. The agent's part, to
 * fetch the module and to remove its own variables, is done as far as Envoy would notice.
 */
export function listenerWithFilter({ name, bytes }: Resource): Resource {
  const { typedConfig } = fromBinary(TypedExtensionConfigSchema, bytes);
  const http = typedConfig && anyUnpack(typedConfig, HttpWasmSchema);
  const network = typedConfig && anyUnpack(typedConfig, NetworkWasmSchema);
  if (http?.config !== undefined) {
    useModule(http.config);
    return listener(name, [manager(name, anyPack(HttpWasmSchema, http))]);
  }
  if (network?.config === undefined) throw new Error(`${name} has no module`);
  useModule(network.config);
  return listener(name, [
    create(FilterSchema, { name, configType: { case: "typedConfig", value: anyPack(NetworkWasmSchema, network) } }),
    filter(
      anyPack(
        TcpProxySchema,
        create(TcpProxySchema, { statPrefix: "x", clusterSpecifier: { case: "cluster", value: "x" } }),
      ),
    ),
  ]);
}

function useModule(config: PluginConfig): void {
  if (config.vm.case !== "vmConfig") return;
  const { environmentVariables } = config.vm.value;
  for (const key of Object.keys(environmentVariables?.keyValues ?? {}))
    if (key.startsWith("ISTIO_META_")) delete environmentVariables?.keyValues[key];
  config.vm.value.code = code;
}

function manager(name: string, value: Any): Filter {
  const router = anyPack(RouterSchema, create(RouterSchema));
  return filter(
    anyPack(
      HttpConnectionManagerSchema,
      create(HttpConnectionManagerSchema, {
        statPrefix: "x",
        routeSpecifier: { case: "routeConfig", value: {} },
        httpFilters: [
          create(HttpFilterSchema, { name, configType: { case: "typedConfig", value } }),
          create(HttpFilterSchema, { name: "router", configType: { case: "typedConfig", value: router } }),
        ],
      }),
    ),
  );
}

function filter(value: Any): Filter {
  return create(FilterSchema, { name: "x", configType: { case: "typedConfig", value } });
}

function listener(name: string, filters: Filter[]): Resource {
  const value = { address: "127.0.0.1", portSpecifier: { case: "portValue", value: 1 } } as const;
  return resource(
    name,
    toBinary(
      ListenerSchema,
      create(ListenerSchema, {
        name,
        address: { address: { case: "socketAddress", value } },
        bindToPort: false,
        filterChains: [{ filters }],
      }),
    ),
  );
}
