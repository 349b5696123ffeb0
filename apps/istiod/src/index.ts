export { startDiscovery, type Discovery } from "./discovery.js";
export { DebugAccess } from "./debug/access.js";
export { debugOverXds, debugType } from "./debug/over-xds.js";
export { exitOf, statusCommand, statusExits } from "./commands/status.js";
export { flagDefaults, flags, type FlagValues } from "./flags.js";
export { connectionLimits } from "./connection-limits.js";
export { pushPath, type PushPath } from "./push-path.js";
export { serveControlZ } from "./logging/control-z.js";
export { type LogFlags, openLog } from "./logging/open-log.js";
