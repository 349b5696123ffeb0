export { clusterKey, meshKey, type ConfigObject } from "./config-object.js";
export { decode, type Decoded, type DecodeOptions, type Issue, type Subject } from "./documents/decode.js";
export { formatPath, type FieldPath, type Report } from "./documents/report.js";
export { allKinds, istioKinds, kubernetesKinds } from "./kinds/all-kinds.js";
export { hostBucket, hostBuckets } from "./kinds/host-bucket.js";
export { type Kind } from "./kinds/kind.js";

export * from "./kinds/authorization-policy.js";
export * from "./kinds/config-map.js";
export * from "./kinds/destination-rule.js";
export * from "./kinds/endpoint-slice.js";
export * from "./kinds/envoy-filter.js";
export * from "./kinds/gateway.js";
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

export { environment } from "./mesh/environment.js";
export { applyMeshConfig, mergeProxyConfig, meshConfig, meshConfigKey } from "./mesh/mesh-config.js";
export { defaultMeshConfig, defaultProxyConfig } from "./mesh/mesh-defaults.js";
export { meshNetworks, meshNetworksKey, readMeshNetworks } from "./mesh/mesh-networks.js";

export { formatProblem, formatSubject, type Problem } from "./documents/problem.js";
export { readText, type LocatedObject, type Reading, type RefusedObject } from "./documents/read-text.js";
export { loadDirectory, setObjects, type LoadedDirectory } from "./sources/load-directory.js";
