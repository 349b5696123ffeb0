export { cacheMetrics } from "./cache-metrics.js";
export { type AnalysisOptions, liveAnalysis } from "./live-analysis.js";
export { omissionLog } from "./omission-log.js";
export { ProblemLog } from "./problem-log.js";
export { type Reporting, reporting, type ReportingOptions } from "./reporting.js";
export { scopeDescriptions } from "./scope-descriptions.js";
export { unsupportedClientMetric } from "./unsupported-clients.js";
export { type XdsLog, xdsLog } from "./xds-log.js";
