export { commitYaml } from "./commit-yaml.js";
export { FakeClock } from "./fake-clock.js";
export { MemorySource } from "./memory-source.js";
