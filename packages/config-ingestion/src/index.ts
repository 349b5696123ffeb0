export { clusterKey, meshKey, type ConfigObject, type NegativeCondition } from "./config-object.js";
export { decode, type Decoded, type DecodeOptions, type Issue, type Subject } from "./documents/decode.js";
export { parseGoDuration } from "./documents/go-duration.js";
export { nearestNames } from "@istiod/settings";
export { FieldLines } from "./documents/field-line.js";
export { formatPath, type FieldPath, type Report, type IssueCode } from "./documents/report.js";
export { allKinds, analysisKinds, ingressKinds, istioKinds, kubernetesKinds, remoteKinds } from "./kinds/all-kinds.js";
export { hostBucket, hostBuckets } from "./kinds/host-bucket.js";
export { type Kind } from "./kinds/kind.js";

export * from "./kinds/analysis/custom-resource-definition.js";
export * from "./kinds/analysis/deployment.js";
export * from "./kinds/analysis/gateway-routes.js";
export * from "./kinds/analysis/kubernetes-gateway.js";
export * from "./kinds/analysis/webhook-configuration.js";
export { type Container } from "./kinds/container.js";
export * from "./kinds/authorization-policy.js";
export * from "./kinds/config-map.js";
export * from "./kinds/destination-rule.js";
export * from "./kinds/endpoint-slice.js";
export * from "./kinds/envoy-filter.js";
export * from "./kinds/gateway.js";
export * from "./kinds/ingress-class.js";
export * from "./kinds/ingress.js";
export * from "./kinds/multi-cluster-services.js";
export * from "./kinds/namespace.js";
export * from "./kinds/node.js";
export * from "./kinds/peer-authentication.js";
export * from "./kinds/pod.js";
export * from "./kinds/proxy-config.js";
export * from "./kinds/request-authentication.js";
export * from "./kinds/secret.js";
export * from "./kinds/service-account.js";
export * from "./kinds/service-entry.js";
export * from "./kinds/service.js";
export * from "./kinds/sidecar.js";
export * from "./kinds/telemetry.js";
export * from "./kinds/traffic-extension.js";
export * from "./kinds/virtual-service.js";
export * from "./kinds/wasm-plugin.js";
export * from "./kinds/workload-entry.js";
export * from "./kinds/workload-group.js";

export {
  configCluster,
  isDiscovered,
  readDiscovered,
  undiscoveredNamespace,
  type ClusterNamespace,
} from "./mesh/discovered-namespaces.js";
export { clusterIdVariable, environment } from "./mesh/environment.js";
export { matchesLabelSelector } from "./mesh/label-selector.js";
export { applyMeshConfig, mergeProxyConfig, meshConfig, meshConfigKey, readProxyConfig } from "./mesh/mesh-config.js";
export { defaultMeshConfig, defaultProxyConfig } from "./mesh/mesh-defaults.js";
export { checkProxyConfigAnnotation, readProxyConfigAnnotation } from "./mesh/proxy-config-annotation.js";
export { meshNetworks, meshNetworksKey, readMeshNetworks } from "./mesh/mesh-networks.js";

export { isCidr } from "./validation/ip.js";
export { isCipherSuite } from "./validation/cipher-suites.js";
export { grpcStatuses } from "./validation/grpc-statuses.js";
export { jwksFault } from "./validation/jwks.js";

export { formatProblem, formatSubject, type Problem } from "./documents/problem.js";
export { readText, type LocatedObject, type Reading } from "./documents/read-text.js";
export { applyChanges, loadDirectory, setObjects, type LoadedDirectory } from "./sources/load-directory.js";
export { Ledger, type Change, type Location } from "./sources/ledger.js";
export { parseYaml, type DocumentText, type ParsedDocument, type SyntaxFault } from "./documents/yaml.js";
export { systemClock, type Clock } from "./sources/clock.js";
export { DirectorySource, type DirectorySourceOptions } from "./sources/directory-source.js";
export { changesEndpointsAlone } from "./sources/endpoint-changes.js";
export { Ingestion, type CommitTiming, type IngestionOptions, type SourceState } from "./sources/ingestion.js";
export { readObjectFiles, readOptionalFile, type NamedText } from "./sources/read-files.js";
export { type Source, type SourceUpdate } from "./sources/source.js";
export { type Write } from "./sources/write.js";
export { IngestionError, type IngestionErrorCode } from "./errors.js";
export { FileSource, meshConfigFile, meshNetworksFile, type FileSourceOptions } from "./sources/file-source.js";
