export { analyze, type AnalyzeRun, findings } from "./analyze.js";
