export { type GuardedProcess, type GuardedProcessOptions, spawnGuarded } from "./guarded-process.js";
export { findPortOwner, formatPortOwner, type PortOwner } from "./port-owner.js";
