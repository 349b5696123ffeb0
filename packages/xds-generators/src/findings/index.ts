export { findings, type Findings } from "./findings.js";
