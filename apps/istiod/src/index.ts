export { startDiscovery, type Discovery } from "./discovery.js";
export { flagDefaults, flagGroups, flags, type FlagValues } from "./flags.js";
export { connectionLimits } from "./connection-limits.js";
export { startupWarnings } from "./startup-warnings.js";
export { checkVariables, featureGroups, readVariables, variableGroups, variables } from "./variables.js";
export { pushSettings, type PushSettings } from "./push-settings.js";
