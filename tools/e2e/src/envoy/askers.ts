import { encodeStringField, joinEncoded } from "@istiod/protobuf-wire";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Cluster_DiscoveryType, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import {
  AggregatedConfigSourceSchema,
  ApiVersion,
  ConfigSourceSchema,
  type ConfigSource,
} from "@istiod/envoy-api/envoy/config/core/v3/config_source";
import { TypedExtensionConfigSchema } from "@istiod/envoy-api/envoy/config/core/v3/extension";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { FilterChainSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { RouterSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/router/v3/router";
import { type Resource, resource } from "@istiod/resources";

/**
 * Renames a cluster, endpoints, listener or route configuration. All have their name in field 1, and of a repeated
 * scalar field the last value wins.
 */
export function renamed({ bytes }: Resource, name: string): Resource {
  return resource(name, joinEncoded([bytes, encodeStringField(1, name)]));
}

/**
 * Returns a listener with another name and unique addresses that does not bind, so that addresses never conflict.
 * `transparent` is cleared as well, since there is no socket to set the option on.
 *
 * @param n unique, from 1
 */
export function unbound({ bytes }: Resource, name: string, n: number): Resource {
  const listener = fromBinary(ListenerSchema, bytes);
  listener.name = name;
  listener.bindToPort = false;
  delete listener.transparent;
  [listener, ...listener.additionalAddresses].forEach(({ address }, at) => {
    if (address?.address.case !== "socketAddress") return;
    const socket = address.address.value;
    socket.address = socket.address.includes(":")
      ? `fd00::${at.toString(16)}:${n.toString(16)}`
      : `10.${at}.${n >> 8}.${n & 255}`;
  });
  return resource(name, toBinary(ListenerSchema, listener));
}

/** Returns a cluster that makes Envoy subscribe to endpoints. */
export function endpointAsker(name: string): Resource {
  return resource(
    name,
    toBinary(
      ClusterSchema,
      create(ClusterSchema, {
        name,
        clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
        edsClusterConfig: { edsConfig: ads() },
      }),
    ),
  );
}

/** Returns a listener that makes Envoy subscribe to a route configuration. @param n unique, from 1 */
export function routeAsker(name: string, n: number): Resource {
  return listenerOf(name, n, {
    routeSpecifier: { case: "rds", value: { routeConfigName: name, configSource: ads() } },
  });
}

/** Returns a listener that makes Envoy subscribe to an HTTP filter by ECDS. @param n unique, from 1 */
export function filterAsker({ name, bytes }: Resource, n: number): Resource {
  const typeUrl = fromBinary(TypedExtensionConfigSchema, bytes).typedConfig?.typeUrl ?? "";
  return listenerOf(
    name,
    n,
    { routeSpecifier: { case: "routeConfig", value: {} } },
    { name, configType: { case: "configDiscovery", value: { configSource: ads(), typeUrls: [typeUrl] } } },
  );
}

type Fields = MessageInitShape<typeof HttpConnectionManagerSchema>;

function listenerOf(
  name: string,
  n: number,
  fields: Pick<Fields, "routeSpecifier">,
  ...filters: NonNullable<Fields["httpFilters"]>
): Resource {
  const router = {
    name: "envoy.filters.http.router",
    configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) },
  } as const;
  const manager = create(HttpConnectionManagerSchema, {
    statPrefix: "asker",
    ...fields,
    httpFilters: [...filters, router],
  });
  const chain = create(FilterChainSchema, {
    filters: [
      { name: "http", configType: { case: "typedConfig", value: anyPack(HttpConnectionManagerSchema, manager) } },
    ],
  });
  const address = {
    address: { case: "socketAddress", value: { address: "127.0.0.1", portSpecifier: { case: "portValue", value: n } } },
  } as const;
  return resource(
    name,
    toBinary(ListenerSchema, create(ListenerSchema, { name, address, bindToPort: false, filterChains: [chain] })),
  );
}

function ads(): ConfigSource {
  return create(ConfigSourceSchema, {
    configSourceSpecifier: { case: "ads", value: create(AggregatedConfigSourceSchema) },
    resourceApiVersion: ApiVersion.V3,
  });
}
