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
import { clusterDefaults } from "./cluster-defaults.js";

const istio = "istio";
const peerMetadata = "istio.peer_metadata";

/** Sets entries of the cluster's metadata under a filter's name. */
export function addMetadata(cluster: Cluster, fields: JsonObject, filter = istio): void {
  cluster.metadata ??= create(MetadataSchema);
  cluster.metadata.filterMetadata[filter] = { ...cluster.metadata.filterMetadata[filter], ...fields };
}

/** A service's names. */
type NamedService = Pick<Service, "hostname" | "name" | "namespace">;

/** The services that the cluster stands for, for the labels of metrics. */
export function addServicesMetadata(q: QueryContext, cluster: Cluster, services: readonly NamedService[]): void {
  if (!q.call(clusterDefaults).telemetryLabel) return;
  addMetadata(cluster, {
    services: services.map(({ hostname, name, namespace }): JsonValue => ({ host: hostname, name, namespace })),
  });
}

/** The path of the rule that shaped the cluster (`configPath`), and that its TLS must not get Istio's ALPN where the rule chose that of a plain server. */
export function addDestinationRuleMetadata(cluster: Cluster, path: string, tls: ClientTLSSettings | undefined): void {
  addMetadata(cluster, { config: path });
  if (tls?.mode === Mode.SIMPLE || tls?.mode === Mode.MUTUAL) addMetadata(cluster, { alpn_override: "false" });
}

/** The filter by which proxies tell each other who they are over TCP, where the client has it. */
export function addMetadataExchange(q: QueryContext, cluster: Cluster): void {
  const { metadataExchange } = q.call(clusterDefaults);
  if (metadataExchange !== undefined) cluster.filters.push(metadataExchange);
}

/** The filter by which a waypoint's answers tell who they are from. */
export function addBaggageDiscovery(q: QueryContext, cluster: Cluster): void {
  if (!q.call(clusterDefaults).exchangesBaggage) return;
  const typedConfig = typedStruct(
    "type.googleapis.com/envoy.extensions.network_filters.peer_metadata.UpstreamConfig",
    {},
  );
  cluster.filters.push(create(FilterSchema, { name: "upstream_hbone_peer_metadata", typedConfig }));
}

/** Keeps that filter from reading what is not meant for it: the bytes of another protocol. */
export function disableBaggageDiscovery(q: QueryContext, cluster: Cluster): void {
  if (q.call(clusterDefaults).exchangesBaggage) addMetadata(cluster, { disable_baggage_discovery: true }, peerMetadata);
}
