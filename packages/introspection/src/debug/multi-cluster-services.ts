import { query } from "@istiod/incremental";
import { multiClusterServices, type Discoverability } from "@istiod/service-discovery";

/** An export or import of a cluster, in Istio's form. */
export interface MultiClusterInfo {
  readonly Cluster: string;
  readonly Name: string;
  readonly Namespace: string;
  readonly Exported: boolean;
  readonly Imported: boolean;
  readonly ClusterSetVIP: string;
  /** The policy of each of its hosts; null where it is not exported. */
  readonly Discoverability: Readonly<Record<string, string>> | null;
}

const policies: Readonly<Record<Discoverability, string>> = {
  everywhere: "AlwaysDiscoverable",
  "same cluster": "DiscoverableFromSameCluster",
};

/** Exports and imports of all clusters. */
export const multiClusterInfos = query("debug.multiClusterServices", (q): readonly MultiClusterInfo[] =>
  q
    .call(multiClusterServices)
    .map(({ cluster, name, namespace, exported, imported, clusterSetAddress, discoverability }) => ({
      Cluster: cluster,
      Name: name,
      Namespace: namespace,
      Exported: exported,
      Imported: imported,
      ClusterSetVIP: clusterSetAddress,
      Discoverability: exported
        ? Object.fromEntries(Object.entries(discoverability).map(([host, who]) => [host, policies[who]]))
        : null,
    })),
);
