export { BoundedLines } from "./bounded-lines.js";
export { serveControlZ } from "./control-z.js";
export { levelOf, type Level, type LevelRules, levelRules, levels, reaches, type ScopeSettings } from "./levels.js";
export { LimitedLog } from "./limited-log.js";
export { logTime, plainLine } from "./log-format.js";
export { LogScopes, type LogScopesOptions, type Scope } from "./log-scopes.js";
export { loggingFlags } from "./logging-flags.js";
export { type LogFlags, openLog } from "./open-log.js";
