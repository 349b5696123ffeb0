export { MemoryRootStore } from "./memory-root-store.js";
