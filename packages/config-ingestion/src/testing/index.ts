export { MemorySource } from "./memory-source.js";
