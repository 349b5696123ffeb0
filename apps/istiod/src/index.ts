export { startDiscovery, type Discovery } from "./discovery.js";
export { flags, type FlagValues } from "./flags.js";
