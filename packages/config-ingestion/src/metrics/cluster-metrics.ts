import type { Meter, Sample } from "@istiod/metrics";
import type { SourceState } from "../ingestion/source-set.js";
import type { SyncState } from "../ingestion/sync-state.js";

const states: readonly SyncState["state"][] = ["synced", "syncing", "timeout", "stale", "forbidden"];

/**
 * Registers Istio's metrics of clusters: their number, the sync states of the remote ones, and the deadlines that these
 * missed. Istio knows neither `stale` nor `forbidden`.
 *
 * @param configCluster ID of the cluster that istiod's configuration is read from
 */
export function clusterMetrics(
  meter: Meter,
  ingestion: { states(): readonly SourceState[] },
  configCluster: string,
): void {
  const remote = (): readonly { readonly cluster: string; readonly state: SourceState }[] =>
    ingestion.states().flatMap((state) => {
      const { cluster } = state.source;
      return cluster === undefined || cluster === configCluster ? [] : [{ cluster, state }];
    });
  meter.observeGauge(
    {
      name: "istiod_managed_clusters",
      help: "Clusters that objects are read from.",
      labels: ["cluster_type"],
    },
    () => [
      {
        value: ingestion.states().some(({ source }) => source.cluster === configCluster) ? 1 : 0,
        labels: { cluster_type: "local" },
      },
      { value: remote().length, labels: { cluster_type: "remote" } },
    ],
  );
  meter.observeGauge(
    {
      name: "istiod_remote_cluster_sync_status",
      help: "1 for the sync state that a remote cluster is in, 0 for the others.",
      labels: ["cluster", "cluster_type", "status"],
    },
    () =>
      remote().flatMap(({ cluster, state }): Sample[] =>
        states.map((status) => ({
          value: state.sync.state === status ? 1 : 0,
          labels: { cluster, cluster_type: "remote", status },
        })),
      ),
  );
  meter.observeCounter(
    {
      name: "remote_cluster_sync_timeouts_total",
      help: "Remote clusters that did not sync by their deadline.",
      labels: ["cluster"],
    },
    () => remote().map(({ cluster, state }) => ({ value: state.missedDeadlines, labels: { cluster } })),
  );
}
