import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import type { Cluster } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { FilterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/filter";
import { MetadataSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { QueryContext } from "@istiod/incremental";
import {
  type ClientTLSSettings,
  ClientTLSSettings_TLSmode as Mode,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import type { Service } from "@istiod/service-discovery";
import { typedStruct } from "../envoy/typed-struct.js";
import { hasIstioExtension } from "../istio-extensions.js";
import { applicationProtocolsKey, istioMetadata } from "../resource-names.js";
import { clusterDefaults } from "./cluster-defaults.js";

const peerMetadata = "istio.peer_metadata";

/** Sets entries of the cluster's metadata under a filter name. */
export function addMetadata(cluster: Cluster, fields: JsonObject, filter = istioMetadata): void {
  cluster.metadata ??= create(MetadataSchema);
  cluster.metadata.filterMetadata[filter] = { ...cluster.metadata.filterMetadata[filter], ...fields };
}

/** A service's names. */
type NamedService = Pick<Service, "hostname" | "name" | "namespace">;

/** Adds the services that the cluster represents, which are labels of metrics. */
export function addServicesMetadata(q: QueryContext, cluster: Cluster, services: readonly NamedService[]): void {
  if (!q.call(clusterDefaults).telemetryLabel) return;
  addMetadata(cluster, {
    services: services.map(({ hostname, name, namespace }): JsonValue => ({ host: hostname, name, namespace })),
  });
}

/**
 * Adds the name of a cluster of unknown destinations as that of a service, for clients whose labels of metrics are from
 * metadata alone. Istio's extension knows these names.
 */
export function addDestinationName(q: QueryContext, cluster: Cluster): void {
  if (!hasIstioExtension(q, "stats")) addMetadata(cluster, { services: [{ name: cluster.name }] });
}

/**
 * Adds the path of the DestinationRule (`configPath`). Excludes the cluster from the ALPN filter if the rule originates
 * plain TLS.
 */
export function addDestinationRuleMetadata(cluster: Cluster, path: string, tls: ClientTLSSettings | undefined): void {
  addMetadata(cluster, { config: path });
  if (tls?.mode === Mode.SIMPLE || tls?.mode === Mode.MUTUAL) addMetadata(cluster, { alpn_override: "false" });
}

/**
 * Adds the ALPN protocols by which requests of this cluster are announced as HTTP to mesh peers, if the client does so
 * by its filter state. Peers that negotiate none of them detect the version of HTTP.
 */
export function addHttpAnnouncement(q: QueryContext, cluster: Cluster, isHttp2: boolean): void {
  if (!q.call(clusterDefaults).announcesByFilterState) return;
  addMetadata(cluster, { [applicationProtocolsKey]: isHttp2 ? "istio-h2,istio,h2" : "istio-http/1.1,istio" });
}

/** Adds the TCP metadata exchange filter, if the client has the extension. */
export function addMetadataExchange(q: QueryContext, cluster: Cluster): void {
  const { metadataExchange } = q.call(clusterDefaults);
  if (metadataExchange !== undefined) cluster.filters.push(metadataExchange);
}

/** Adds the filter that reads peer metadata from the baggage of HBONE responses. */
export function addBaggageDiscovery(q: QueryContext, cluster: Cluster): void {
  if (!q.call(clusterDefaults).exchangesBaggage) return;
  const typedConfig = typedStruct(
    "type.googleapis.com/envoy.extensions.network_filters.peer_metadata.UpstreamConfig",
    {},
  );
  cluster.filters.push(create(FilterSchema, { name: "upstream_hbone_peer_metadata", typedConfig }));
}

/** Disables baggage discovery, which would misread the bytes of another protocol. */
export function disableBaggageDiscovery(q: QueryContext, cluster: Cluster): void {
  if (q.call(clusterDefaults).exchangesBaggage) addMetadata(cluster, { disable_baggage_discovery: true }, peerMetadata);
}
