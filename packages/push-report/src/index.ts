export { ChangeAttribution } from "./attribution/change-attribution.js";
export { ChangeLog, type ChangeLogOptions } from "./change-log.js";
export type { ChangeReport } from "./change-report.js";
export { Deliveries } from "./deliveries.js";
export { formatName, type ObjectName, parseName } from "./object-name.js";
export type { MissingResources } from "./missing-resources.js";
export { type ObjectStatus, statusOf, type StatusOptions, type StatusSources } from "./object-status.js";
export { StatusCache } from "./status-cache.js";
export { formatStatus, isGone, isIneffective, isLive } from "./verdict.js";
