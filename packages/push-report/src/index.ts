export { ChangeAttribution } from "./attribution/change-attribution.js";
export { ChangeLog, type ChangeLogOptions } from "./change-log.js";
export type { ChangeReport } from "./change-report.js";
export { Deliveries } from "./deliveries.js";
export { formatName, nameOf, parseName, placesOf, type ObjectName, type Place } from "./object-name.js";
export { statusOf, type Missing, type ObjectStatus, type StatusPace, type StatusSources } from "./object-status.js";
export { Statuses } from "./statuses.js";
export { formatStatus, isGone, isIneffective, isLive } from "./verdict.js";
