import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import type { Cluster } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { FilterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/filter";
import { MetadataSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { QueryContext } from "@istiod/incremental";
import { type ClientTLSSettings, ClientTLSSettings_TLSmode as Mode } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { type ConsolidatedRule, features } from "@istiod/push-context";
import type { Service } from "@istiod/service-discovery";
import { typedStruct } from "../envoy/typed-struct.js";
import { hasIstioExtension } from "../extensions/istio-extensions.js";
import { sendsHbone } from "./hbone.js";

const istio = "istio";
const peerMetadata = "istio.peer_metadata";

/** Sets entries of the cluster's metadata under a filter's name. */
export function addMetadata(cluster: Cluster, fields: JsonObject, filter = istio): void {
  cluster.metadata ??= create(MetadataSchema);
  cluster.metadata.filterMetadata[filter] = { ...cluster.metadata.filterMetadata[filter], ...fields };
}

/** The services that the cluster stands for, for the labels of metrics. */
export function addServicesMetadata(q: QueryContext, cluster: Cluster, services: readonly Service[]): void {
  if (!features.telemetryLabel(q)) return;
  addMetadata(cluster, { services: services.map(({ hostname, name, namespace }): JsonValue => ({ host: hostname, name, namespace })) });
}

/** The rule that shaped the cluster, and that its TLS must not get Istio's ALPN where the rule chose that of a plain server. */
export function addRuleMetadata(cluster: Cluster, rule: ConsolidatedRule, tls: ClientTLSSettings | undefined): void {
  addMetadata(cluster, { config: configPath(rule) });
  if (tls?.mode === Mode.SIMPLE || tls?.mode === Mode.MUTUAL) addMetadata(cluster, { alpn_override: "false" });
}

export function configPath({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `/apis/networking.istio.io/v1/namespaces/${namespace}/destination-rule/${name}`;
}

/** The filter by which proxies tell each other who they are over TCP, where the client has it. */
export function addMetadataExchange(q: QueryContext, cluster: Cluster): void {
  if (!features.metadataExchange(q) || !hasIstioExtension(q, "metadataExchange")) return;
  const labels = features.metadataExchangeAdditionalLabels(q);
  const value = { protocol: "istio-peer-exchange", enable_discovery: true, ...(labels.length > 0 && { additional_labels: [...labels] }) };
  const typedConfig = typedStruct("type.googleapis.com/envoy.tcp.metadataexchange.config.MetadataExchange", value);
  cluster.filters.push(create(FilterSchema, { name: "istio.metadata_exchange", typedConfig }));
}

/** The filter by which a waypoint's answers tell who they are from. */
export function addBaggageDiscovery(q: QueryContext, cluster: Cluster): void {
  if (!features.ambientBaggage(q) || !sendsHbone(q)) return;
  const typedConfig = typedStruct("type.googleapis.com/envoy.extensions.network_filters.peer_metadata.UpstreamConfig", {});
  cluster.filters.push(create(FilterSchema, { name: "upstream_hbone_peer_metadata", typedConfig }));
}

/** Keeps that filter from reading what is not meant for it: the bytes of another protocol. */
export function disableBaggageDiscovery(q: QueryContext, cluster: Cluster): void {
  if (features.ambientBaggage(q) && sendsHbone(q)) addMetadata(cluster, { disable_baggage_discovery: true }, peerMetadata);
}
