export { readCorpus } from "./corpus.js";
export { fuzz, type FuzzOptions } from "./fuzz.js";
export { type Run, runInWorker } from "./run-in-worker.js";
export type { Fault, Target } from "./target.js";
export { targets } from "./targets/index.js";
