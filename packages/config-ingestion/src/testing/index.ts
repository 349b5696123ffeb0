export { MemorySource } from "./memory-source.js";
export { MemoryPlace } from "./memory-place.js";
