export { MemoryMeter } from "./memory-meter.js";
