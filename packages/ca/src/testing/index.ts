export { FakeClock } from "./fake-clock.js";
export { MemoryRootStore } from "./memory-root-store.js";
