export { MemorySource } from "./memory-source.js";
export { MemoryPlace } from "./memory-place.js";
export { ManualSource, type ManualSourceOptions } from "./manual-source.js";
export { MemoryCluster } from "./memory-cluster.js";
