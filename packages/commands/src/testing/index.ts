export { analyze, type AnalyzeRun, findings } from "./analyze.js";
export { istioTypes, typesOf } from "./istio-types.js";
