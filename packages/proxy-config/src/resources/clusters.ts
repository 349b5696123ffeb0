import { type Cluster, Cluster_DiscoveryType, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { compareClusterNames, parseClusterName } from "./cluster-name.js";
import { type ConfigDump, type DumpedResource, dumpedResource, packedIn, section } from "../dump/config-dump.js";
import { managedBy } from "./managed-by.js";
import type { Table } from "../table.js";

/** Selects clusters; absent fields select all. */
export interface ClusterFilter {
  /** Substring of the service's FQDN, or of the name of a cluster without service. */
  readonly fqdn?: string | undefined;
  readonly port?: number | undefined;
  /** Substring of the subset's name. */
  readonly subset?: string | undefined;
  /** `inbound` or `outbound`. */
  readonly direction?: string | undefined;
}

/**
 * Returns the clusters of a dump, from the control plane and the bootstrap, sorted by host, subset, port and direction.
 */
export function clusters(dump: ConfigDump, filter: ClusterFilter = {}): readonly DumpedResource<Cluster>[] {
  const found = section(dump, "ClustersConfigDump");
  const packed = packedIn(found, ["dynamicActiveClusters", "staticClusters"], "cluster");
  return packed
    .map((json) => dumpedResource(ClusterSchema, json))
    .filter(({ message }) => matches(message.name, filter))
    .sort((a, b) => compareClusterNames(a.message.name, b.message.name));
}

/** Summarizes clusters. @param named whether rows start with `cluster/` and the resource's name */
export function clusterTable(found: readonly DumpedResource<Cluster>[], named = false): Table {
  const header = ["SERVICE FQDN", "PORT", "SUBSET", "DIRECTION", "TYPE", "DESTINATION RULE"];
  const rows = found.map(({ message }) => {
    const name = parseClusterName(message.name);
    const service =
      name === undefined
        ? [named && message.name !== "" ? `cluster/${message.name}` : message.name, "-", "-", "-"]
        : [name.host, String(name.port), name.subset || "-", name.direction];
    return [
      ...(named ? [`cluster/${message.name}`] : []),
      ...service,
      discoveryType(message),
      managedBy(message.metadata),
    ];
  });
  return [[...(named ? ["NAME"] : []), ...header], ...rows];
}

function discoveryType({ clusterDiscoveryType }: Cluster): string {
  return (
    Cluster_DiscoveryType[
      clusterDiscoveryType.case === "type" ? clusterDiscoveryType.value : Cluster_DiscoveryType.STATIC
    ] ?? ""
  );
}

function matches(name: string, { fqdn, port, subset, direction }: ClusterFilter): boolean {
  const parts = parseClusterName(name) ?? { host: name, subset: name, direction: name, port: 0 };
  return (
    parts.host.includes(fqdn ?? "") &&
    parts.subset.includes(subset ?? "") &&
    parts.direction.includes(direction ?? "") &&
    (!port || parts.port === port)
  );
}
