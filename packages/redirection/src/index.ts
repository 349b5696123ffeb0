export { type Capture, checkCapture, defaultCapture } from "./capture.js";
export { captureRules } from "./capture-rules.js";
export { restoreInput, type Rule, type Table } from "./rule.js";
export { type Applied, type ApplyOptions, applyCapture, removeCapture } from "./apply.js";
export { verifyCapture, type VerifyOptions } from "./verify.js";
export { localRun, type Ran, type Run } from "./run.js";
export { RedirectionError } from "./errors.js";
