export { customResourceDefinitions, type CustomResourceDefinition } from "./definitions/custom-resource-definitions.js";
export { completeCharts, CHARTS, manifestOf } from "./complete-charts.js";
export { readProtos } from "./definitions/read-protos.js";
export type { JsonSchema } from "./definitions/json-schema.js";
export { findHelm, helmUnavailable } from "./helm/find-helm.js";
export { type ChartObject, renderChart, type RenderOptions } from "./render/render-chart.js";
