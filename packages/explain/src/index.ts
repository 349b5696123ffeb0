export { type AskedFact, explain, type ExplainOptions, type ResourceExplanation } from "./explain.js";
export { type Faults, type OmittedPart, omittedParts } from "./faults/faults.js";
export type { MeshClient } from "./faults/mesh-client.js";
export { patchFindings } from "./faults/patch-findings.js";
export { providerFindings } from "./faults/provider-findings.js";
export { type PatchStatus, patchStatuses } from "./faults/patch-statuses.js";
export { modelMetrics, type ModelMetricsOptions } from "./faults/model-metrics.js";
export { OmissionObserver, type OmissionObserverOptions } from "./faults/omission-observer.js";
export type { Effect } from "./provenance/effect.js";
export type { ObjectRead } from "./provenance/objects-read.js";
export type { IgnoredConfig, ObjectReference } from "./ignored/index.js";
export { diffMeshes, type MeshDiff, pairProxies, type ProxyPair, type ResourceDiff } from "./mesh-diff.js";
export { formatExplanations, formatMeshDiff } from "./format.js";
export { isJsonObject, type Json, type JsonDifference, jsonDifferences } from "./json-difference.js";
export {
  explainProxy,
  type ExplainRequest,
  formatProxyExplanation,
  type ProxyExplanation,
} from "./proxy-explanation.js";
export { type ConnectedProxy, type ProxyState, type ProxySubscription } from "./proxy-state.js";
export { proxyResources } from "./proxy-resources.js";
export { nearestResources, type ResourceName } from "./resource-names.js";
export { messageRegistry, resourceJson, type ResourceType, resourceType, resourceTypes } from "./resource-types.js";
