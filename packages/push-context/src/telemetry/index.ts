export { type AccessLogTarget, accessLogTargets } from "./access-logs.js";
export { applicableTelemetry, type ApplicableTelemetry } from "./applicable-telemetry.js";
export { extensionProvider } from "./extension-provider.js";
export { type ListenerClass, modeOfClass } from "./listener-class.js";
export { type MetricOverride, metricsSettings, type MetricsSettings } from "./metrics.js";
export { tracingSettings, type TracingSettings } from "./tracing.js";
