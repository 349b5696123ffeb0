import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type ClusterStatus, ClustersSchema, type HostStatus } from "@istiod/envoy-api/envoy/admin/v3/clusters";
import { HealthStatus } from "@istiod/envoy-api/envoy/config/core/v3/health_check";
import { endpointAddress } from "./addresses.js";
import { canonicalJson } from "../../dump/canonical-json.js";
import { compare } from "../cluster-name.js";
import { type DumpedResource, decode, objectsIn, parseJson } from "../../dump/config-dump.js";
import { type EndpointFilter, selects } from "./endpoint-filter.js";
import { ProxyConfigError } from "../../errors.js";
import type { Table } from "../../table.js";

/** The clusters of an Envoy with their hosts: the JSON of `envoy.admin.v3.Clusters`. */
export type ClusterHosts = readonly DumpedResource<ClusterStatus>[];

/**
 * Parses the response of Envoy's admin endpoint `/clusters?format=json`.
 *
 * @throws ProxyConfigError `invalid-json` or `unexpected-kind`
 */
export function readClusterHosts(text: string): ClusterHosts {
  const json = canonicalJson(ClustersSchema, parseJson(text, "clusters")) as JsonObject;
  if (!Array.isArray(json["clusterStatuses"]))
    throw new ProxyConfigError(
      "unexpected-kind",
      "clusters: there is no list `cluster_statuses`; expected the output of Envoy's /clusters?format=json",
    );
  const { clusterStatuses } = decode(ClustersSchema, json);
  const each = objectsIn(json, "clusterStatuses");
  return clusterStatuses.map((message, at) => ({ message, json: each[at] ?? {} }));
}

/** Returns the clusters with a host that a filter selects, as JSON. */
export function clusterHostsJson(clusters: ClusterHosts, filter: EndpointFilter = {}): JsonValue[] {
  return clusters
    .filter(({ message }) => message.hostStatuses.some((host) => isSelected(filter, host, message.name)))
    .map(({ json }) => json);
}

/**
 * Summarizes the hosts of an Envoy with their health, sorted by address, port and cluster.
 */
export function endpointTable(clusters: ClusterHosts, filter: EndpointFilter = {}): Table {
  const hosts = clusters.flatMap(({ message: { name, hostStatuses } }) =>
    hostStatuses.filter((host) => isSelected(filter, host, name)).map((host) => ({ name, host, ...addressOf(host) })),
  );
  const sorted = hosts.sort((a, b) => compare(a.address, b.address) || a.port - b.port || compare(a.name, b.name));
  const rows = sorted.map(({ name, host, address, port }) => {
    return [
      port === 0 ? address : `${address}:${port}`,
      HealthStatus[edsStatus(host)] ?? "",
      host.healthStatus?.failedOutlierCheck === true ? "FAILED" : "OK",
      name,
    ];
  });
  return [["ENDPOINT", "STATUS", "OUTLIER CHECK", "CLUSTER"], ...rows];
}

function addressOf({ address }: HostStatus): { readonly address: string; readonly port: number } {
  const { host, port } = endpointAddress(address);
  return { address: address?.address.case === "pipe" ? `unix://${host}` : host, port };
}

function isSelected(filter: EndpointFilter, host: HostStatus, cluster: string): boolean {
  return selects(filter, [host.address], cluster, edsStatus(host));
}

function edsStatus({ healthStatus }: HostStatus): HealthStatus {
  return healthStatus?.edsHealthStatus ?? HealthStatus.UNKNOWN;
}
