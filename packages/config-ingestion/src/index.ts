export { Ingestion } from "./ingestion/ingestion.js";
export { type CommitTiming, type IngestionOptions, type SourceEntry } from "./ingestion/ingestion-options.js";
export { type SourceOptions, type SourceState } from "./ingestion/source-set.js";
export { formatSyncState, type SyncReason, type SyncState } from "./ingestion/sync-state.js";
export { type ObjectKey, type Source, type SourceUpdate } from "./ingestion/source.js";
export { IngestionError, type IngestionErrorCode } from "./errors.js";

export { clusterDirectories, clusterDirectory, type OpenDirectory } from "./files/cluster-directories.js";
export { DirectorySource, type DirectorySourceOptions, type FileLimits } from "./files/directory-source.js";
export { type DocumentPlace, type PlacedText } from "./mesh/document-place.js";
export { FilePlace } from "./mesh/file-place.js";
export { meshConfigFile, meshConfigSource, meshNetworksFile, meshNetworksSource } from "./mesh/mesh-sources.js";
export { loadDirectory, type LoadedDirectory } from "./files/load-directory.js";
export { type NamedText, readObjectFiles, readOptionalFile } from "./files/read-files.js";

export { clusterMetrics } from "./metrics/cluster-metrics.js";
export { rejectedPoliciesSummary, rejectedPolicyMetrics } from "./metrics/rejected-policies.js";
export { queueDepth, sourceMetrics, type SourceMetrics } from "./metrics/source-metrics.js";

export { type FollowedKind, followKind } from "./kubernetes/follow-kind.js";
export { Ledger, type Location } from "./ledger/ledger.js";
export { type RejectedPolicy } from "./ledger/stored-versions.js";
export { changesEndpointsAlone } from "./ingestion/endpoint-changes.js";
export { type Write } from "./ingestion/write.js";

export { clusterOfKubeconfig, sanitizeKubeconfig } from "./clusters/untrusted-kubeconfig.js";
export {
  ConnectedClusters,
  type ConnectedClustersOptions,
  type KubeconfigEvent,
} from "./clusters/connected-clusters.js";
export { KubeconfigDirectory } from "./clusters/kubeconfig-directory.js";
export { type KubeconfigPlace } from "./clusters/kubeconfig-place.js";
export {
  KubeconfigSecrets,
  type KubeconfigSecretsOptions,
  originOfSecret,
  remoteClusterLabel,
} from "./clusters/kubeconfig-secrets.js";
export { RemoteClusterSource, type RemoteObjects } from "./clusters/remote-cluster-source.js";
export {
  type OfferedClusters,
  type RemoteCluster,
  type RemoteClusterChange,
  type RemoteClusterProblem,
  RemoteClusters,
  type RemoteClustersOptions,
} from "./clusters/remote-clusters.js";
export { RemoteAccess } from "./clusters/remote-access.js";
export { remoteReviews } from "./clusters/remote-reviews.js";

export {
  type ClusterReader,
  type ObjectEvent,
  type ObjectVersion,
  type ServedHandler,
  type WatchHandler,
  type WatchState,
  type WatchTarget,
} from "./kubernetes/cluster-reader.js";
export { KubernetesSource, type KubernetesSourceOptions } from "./kubernetes/kubernetes-source.js";
export { type ObjectMetadata } from "./kubernetes/object-metadata.js";
export { type ResourceFilter } from "./kubernetes/resource-filter.js";
export { ConfigMapPlace, type ConfigMapPlaceOptions, revisedName } from "./kubernetes/config-map-place.js";
export { newestServed } from "./kubernetes/served-version.js";
export { clusterReader, type ClusterReaderOptions, formatUnsupported } from "./kubernetes/api-cluster-reader.js";
