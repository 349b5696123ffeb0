import { fromBinary, toJsonString } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { AddressSchema } from "@istiod/envoy-api/envoy/config/core/v3/address";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { type Filter, type FilterChain } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import type { Route } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import { clusterType, endpointType, listenerType, routeType, secretType } from "@istiod/xds-server";

/**
 * Returns the names of what traffic depends on in an encoded resource: endpoints; virtual hosts, and routes with their
 * clusters; filter chains with their filters, including those of HTTP; TLS contexts of clusters; certificates.
 */
export function partsOf(typeUrl: string, bytes: Uint8Array): readonly string[] {
  return readers[typeUrl]?.(bytes) ?? [];
}

const readers: Readonly<Record<string, (bytes: Uint8Array) => readonly string[]>> = {
  [clusterType](bytes) {
    const { transportSocket, transportSocketMatches } = fromBinary(ClusterSchema, bytes);
    return [transportSocket, ...transportSocketMatches].flatMap((socket) => (socket ? [`TLS ${socket.name}`] : []));
  },
  [endpointType](bytes) {
    return fromBinary(ClusterLoadAssignmentSchema, bytes)
      .endpoints.flatMap(({ lbEndpoints }) => lbEndpoints)
      .flatMap(({ hostIdentifier }) =>
        hostIdentifier.case === "endpoint" && hostIdentifier.value.address !== undefined
          ? [`endpoint ${toJsonString(AddressSchema, hostIdentifier.value.address)}`]
          : [],
      );
  },
  [secretType](bytes) {
    const { type } = fromBinary(SecretSchema, bytes);
    return type.case === "tlsCertificate" ? ["certificate"] : [];
  },
  [routeType](bytes) {
    return fromBinary(RouteConfigurationSchema, bytes).virtualHosts.flatMap(({ name, routes }) => [
      `virtual host ${name}`,
      ...routes.flatMap((route) => clustersOf(route).map((cluster) => `route ${name} ${route.name} to ${cluster}`)),
    ]);
  },
  [listenerType](bytes) {
    const { filterChains, defaultFilterChain } = fromBinary(ListenerSchema, bytes);
    return [...filterChains, ...(defaultFilterChain ? [defaultFilterChain] : [])].flatMap(filtersOf);
  },
};

function clustersOf({ action }: Route): readonly string[] {
  if (action.case !== "route") return [];
  const { clusterSpecifier } = action.value;
  if (clusterSpecifier.case === "cluster") return [clusterSpecifier.value];
  if (clusterSpecifier.case === "weightedClusters") return clusterSpecifier.value.clusters.map(({ name }) => name);
  return [];
}

function filtersOf({ name, filters, transportSocket }: FilterChain): readonly string[] {
  return [
    ...(transportSocket ? [`filter chain ${name} TLS`] : []),
    ...filters.flatMap((filter) => [
      `filter chain ${name} ${filter.name}`,
      ...httpFiltersOf(filter).map((http) => `filter chain ${name} ${filter.name} ${http}`),
    ]),
  ];
}

function httpFiltersOf({ configType }: Filter): readonly string[] {
  if (configType.case !== "typedConfig") return [];
  return anyUnpack(configType.value, HttpConnectionManagerSchema)?.httpFilters.map(({ name }) => name) ?? [];
}
