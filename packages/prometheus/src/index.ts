export { processMetrics } from "./process-metrics.js";
export { prometheusMeter } from "./prometheus-meter.js";
