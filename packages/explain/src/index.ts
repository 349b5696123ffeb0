export { explain, type AskedFact, type ExplainOptions, type ResourceExplanation } from "./explain.js";
export type { Effect } from "./fields-that-mattered.js";
export { type Json, type JsonDifference, isJsonObject, jsonDifferences } from "./json-difference.js";
export type { Loss, NamedObject } from "./losses/index.js";
export type { ObjectRead } from "./made-from.js";
export { messageRegistry, resourceJson, type ResourceType, resourceType, resourceTypes } from "./resource-types.js";
export { type MeshChanges, meshChanges, pairProxies, type ProxyPair, type ResourceChange } from "./changes.js";
export { formatChanges, formatExplanations } from "./format.js";
export { podProxies, podProxy, proxyNamed } from "./proxies.js";
