import {
  ConnectedClusters,
  DirectorySource,
  formatSyncState,
  RemoteClusterSource,
  type Source,
  type SourceState,
} from "@istiod/config-ingestion";
import { formatProblem, type Problem } from "@istiod/config-schema";
import type { SourceStatus } from "@istiod/status-page";

/**
 * Returns the state of each source. A source with a file that cannot be read is stale; one with a rejected document is
 * not.
 */
export function sourceStatuses(
  named: ReadonlyMap<Source, Pick<SourceStatus, "name" | "location">>,
  states: readonly SourceState[],
): readonly SourceStatus[] {
  return states.flatMap(({ source, sync, changed, problems }): readonly SourceStatus[] => {
    const described = named.get(source) ?? describe(source);
    if (described === undefined) return [];
    if (sync.state === "syncing") return [{ ...described, state: "reading", reasons: [formatSyncState(sync)] }];
    const isWhole = ({ severity, line }: Problem): boolean =>
      severity === "error" && (line === 0 || !(source instanceof DirectorySource));
    const reasons = [
      ...(sync.state === "synced" ? [] : [formatSyncState(sync)]),
      ...problems.filter(isWhole).map(formatProblem),
    ];
    return [{ ...described, state: reasons.length > 0 ? "stale" : changed ? "reading" : "current", reasons }];
  });
}

function describe(source: Source): Pick<SourceStatus, "name" | "location"> | undefined {
  const { name, cluster } = source;
  if (source instanceof RemoteClusterSource) return { name: `Cluster ${source.cluster}`, location: source.origin };
  if (source instanceof ConnectedClusters) return { name: "Remote clusters", location: source.location };
  if (cluster !== undefined) return { name: `Cluster ${cluster}`, location: name ?? "" };
  return name === undefined ? undefined : { name, location: name };
}

/** Returns lines for `/ready` about the sources whose last good content is served; empty if there are none. */
export function staleSourcesSummary(states: readonly SourceState[]): string {
  return states
    .filter(({ sync: { state } }) => state !== "synced")
    .map(({ source, sync }) => `source ${describe(source)?.name ?? "without a name"}: ${formatSyncState(sync)}\n`)
    .join("");
}

/**
 * Returns lines for `/ready` about SPIFFE bundles and revocation lists whose last good content is used, or that were
 * never read.
 */
export function staleTrustSummary(sources: readonly SourceStatus[]): string {
  return sources
    .filter(({ state }) => state === "stale")
    .map(({ name, location, reasons }) => `source ${name} ${location}: stale: ${reasons.join("; ")}\n`)
    .join("");
}

/** Returns a line for each source, in the form of the API server's `/readyz?verbose`. */
export function componentLines(sources: readonly SourceStatus[]): readonly string[] {
  return sources.map(({ name, location, state, reasons }) => {
    const details = reasons.length === 0 ? "" : `, ${reasons.join("; ")}`;
    return `[${state === "stale" ? "-" : "+"}]${name} (${location}): ${state}${details}\n`;
  });
}

/** A cluster as `/debug/clusterz` shows it. */
export interface ClusterState {
  readonly id: string;
  /** Secret (`NAMESPACE/NAME`), file or flag that gives access to the cluster; empty for istiod's own. */
  readonly secretName: string;
  /** As Istio's: `synced`, `syncing` or `timeout`; and `stale` or `forbidden`. */
  readonly syncStatus: string;
  /** Reason why the cluster is not synced. */
  readonly reason?: string;
}

/** Returns the state of istiod's own cluster, and then of the remote clusters. */
export function clusterStates(configCluster: string, states: readonly SourceState[]): readonly ClusterState[] {
  const ofClusters = states.flatMap(({ source, sync, replacement }): ClusterState[] => {
    if (source.cluster === undefined) return [];
    const reasons = [
      ...(sync.state === "synced" ? [] : [formatSyncState(sync)]),
      ...(replacement === undefined ? [] : [`new credentials are not used yet: ${formatSyncState(replacement.sync)}`]),
    ];
    return [
      {
        id: source.cluster,
        secretName: source.cluster === configCluster ? "" : accessName(source),
        syncStatus: sync.state,
        ...(reasons.length > 0 && { reason: reasons.join("; ") }),
      },
    ];
  });
  const own = ofClusters.find(({ id }) => id === configCluster);
  return [
    own ?? { id: configCluster, secretName: "", syncStatus: "synced" },
    ...ofClusters.filter(({ id }) => id !== configCluster),
  ];
}

function accessName(source: Source): string {
  return source instanceof RemoteClusterSource ? source.origin.replace(/^Secret /, "") : "--clusterDir";
}
