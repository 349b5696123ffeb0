import type { JsonObject } from "@bufbuild/protobuf";
import type { Locality } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { HealthStatus } from "@istiod/envoy-api/envoy/config/core/v3/health_check";
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema,
} from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import type { Endpoint, LbEndpoint } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint_components";
import { formatAddress } from "./addresses.js";
import { compareClusterNames } from "../cluster-name.js";
import {
  type ConfigDump,
  decode,
  type DumpedResource,
  dumpedResource,
  objectIn,
  objectsIn,
  optionalSection,
  packedIn,
} from "../../dump/config-dump.js";
import { type EndpointFilter, selects } from "./endpoint-filter.js";
import type { Table } from "../../table.js";

export interface AssignmentTableOptions {
  /**
   * `locality`: the columns of `istioctl proxy-config eds`. `outlier`: those of `istioctl proxy-config endpoints`, in
   * which the outlier check is `-` because only the proxy knows it. Default: `locality`.
   */
  readonly columns?: "locality" | "outlier" | undefined;
  /** True if rows start with `endpoint/`. Default: false. */
  readonly named?: boolean | undefined;
}

/**
 * Returns the endpoints of a dump by cluster, as configured by the control plane or the bootstrap. Excludes endpoints
 * that the filter does not select, and clusters without endpoints. Includes endpoints inside of clusters unless the
 * dump lists them separately, as Envoy does. Empty if the dump has no endpoints.
 */
export function assignments(
  dump: ConfigDump,
  filter: EndpointFilter = {},
): readonly DumpedResource<ClusterLoadAssignment>[] {
  const found = optionalSection(dump, "EndpointsConfigDump");
  if (found === undefined) return [];
  const listed = packedIn(found, ["dynamicEndpointConfigs", "staticEndpointConfigs"], "endpointConfig");
  const packed = [
    ...listed,
    ...inlineAssignments(dump, new Set(listed.map((assignment) => assignment["clusterName"]))),
  ];
  return packed
    .map((json) => selected(dumpedResource(ClusterLoadAssignmentSchema, json), filter))
    .filter(({ message }) => message.endpoints.some(({ lbEndpoints }) => lbEndpoints.length > 0))
    .sort((a, b) => compareClusterNames(a.message.clusterName, b.message.clusterName));
}

/** Summarizes endpoints. */
export function assignmentTable(
  found: readonly DumpedResource<ClusterLoadAssignment>[],
  { columns = "locality", named = false }: AssignmentTableOptions = {},
): Table {
  const rows = found.flatMap(({ message: { clusterName, endpoints } }) =>
    endpoints.flatMap(({ locality, lbEndpoints }) =>
      lbEndpoints.map((endpoint) => {
        const address = endpointOf(endpoint);
        const shown = [address?.address, ...(address?.additionalAddresses ?? []).map((each) => each.address)]
          .map(formatAddress)
          .join(",");
        return [
          `${named ? "endpoint/" : ""}${shown}`,
          HealthStatus[endpoint.healthStatus] ?? "",
          columns === "locality" ? formatLocality(locality) : "-",
          clusterName,
        ];
      }),
    ),
  );
  return [
    columns === "locality"
      ? ["NAME", "STATUS", "LOCALITY", "CLUSTER"]
      : ["ENDPOINT", "STATUS", "OUTLIER CHECK", "CLUSTER"],
    ...rows,
  ];
}

/** Formats a locality as `region/zone/subzone`, without unknown parts. */
function formatLocality(locality: Locality | undefined): string {
  const { region = "", zone = "", subZone = "" } = locality ?? {};
  return zone === "" ? region : [region, zone, ...(subZone === "" ? [] : [subZone])].join("/");
}

/** Returns the endpoints inside of clusters that are not listed separately. */
function inlineAssignments(dump: ConfigDump, listed: ReadonlySet<unknown>): readonly JsonObject[] {
  const clusters = packedIn(
    optionalSection(dump, "ClustersConfigDump") ?? {},
    ["dynamicActiveClusters", "staticClusters"],
    "cluster",
  );
  const unlisted = clusters.filter((cluster) => !listed.has(cluster["name"]));
  return unlisted
    .map((cluster) => objectIn(cluster, "loadAssignment"))
    .filter((assignment) => assignment !== undefined);
}

function selected(
  { message, json }: DumpedResource<ClusterLoadAssignment>,
  filter: EndpointFilter,
): DumpedResource<ClusterLoadAssignment> {
  const kept = objectsIn(json, "endpoints").map((group, at): JsonObject => {
    const endpoints = message.endpoints[at]?.lbEndpoints ?? [];
    const lbEndpoints = objectsIn(group, "lbEndpoints").filter((_, n) =>
      isSelected(filter, endpoints[n], message.clusterName),
    );
    return { ...group, ...("lbEndpoints" in group && { lbEndpoints }) };
  });
  const rest = { ...json, ...("endpoints" in json && { endpoints: kept }) };
  return { message: decode(ClusterLoadAssignmentSchema, rest), json: rest };
}

function isSelected(filter: EndpointFilter, endpoint: LbEndpoint | undefined, cluster: string): boolean {
  if (endpoint === undefined) return false;
  const address = endpointOf(endpoint);
  return selects(
    filter,
    [address?.address, ...(address?.additionalAddresses ?? []).map((each) => each.address)],
    cluster,
    endpoint.healthStatus,
  );
}

function endpointOf({ hostIdentifier }: LbEndpoint): Endpoint | undefined {
  return hostIdentifier.case === "endpoint" ? hostIdentifier.value : undefined;
}
