import { fromBinary } from "@bufbuild/protobuf";
import { Cluster_DiscoveryType, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import type { Resource } from "@istiod/resources";

/** Returns the names of the load assignments that an Envoy with these clusters requests. */
export function requestedAssignments(clusters: Iterable<Resource>): ReadonlySet<string> {
  return new Set(
    Array.from(clusters, ({ bytes }) => fromBinary(ClusterSchema, bytes)).flatMap(
      ({ name, clusterDiscoveryType: { value }, edsClusterConfig }) =>
        value === Cluster_DiscoveryType.EDS ? [edsClusterConfig?.serviceName || name] : [],
    ),
  );
}

interface Discovered {
  readonly name: string;
  readonly configType: { readonly case: string | undefined };
}

/** Returns the names of the extension configurations that an Envoy with these listeners requests. */
export function requestedExtensions(listeners: Iterable<Resource>): ReadonlySet<string> {
  const all = Array.from(listeners, ({ bytes }) => fromBinary(ListenerSchema, bytes));
  const filters = all.flatMap(({ filterChains, defaultFilterChain }) =>
    [...filterChains, ...(defaultFilterChain ? [defaultFilterChain] : [])].flatMap((chain) => chain.filters),
  );
  const httpFilters = filters.flatMap(({ configType }) =>
    configType.case === "typedConfig" && configType.value.typeUrl.endsWith(HttpConnectionManagerSchema.typeName)
      ? fromBinary(HttpConnectionManagerSchema, configType.value.value).httpFilters
      : [],
  );
  const listenerFilters = all.flatMap((each) => each.listenerFilters);
  const extensions: readonly Discovered[] = [...listenerFilters, ...filters, ...httpFilters];
  return new Set(extensions.flatMap(({ name, configType }) => (configType.case === "configDiscovery" ? [name] : [])));
}
