export { applyCapture, type ApplyOptions, type ApplyResult, removeCapture } from "./apply.js";
export { type CaptureConfig, defaultCaptureConfig } from "./capture-config.js";
export { buildCaptureRules } from "./capture-rules.js";
export { type CommandResult, type CommandRunner, localRunner } from "./command-runner.js";
export { RedirectionError } from "./errors.js";
export { formatRestoreInput, type Rule, type Table } from "./rule.js";
export { validateCaptureConfig } from "./validation.js";
export { verifyCapture, type VerifyOptions } from "./verify.js";
