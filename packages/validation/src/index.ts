export {
  type AcceptedObject,
  alwaysRejectAnnotation,
  type FailureReason,
  type ValidationEvent,
  type ValidationOptions,
  validationWebhook,
} from "./admit.js";
export { warnedKinds, warningWebhook } from "./warn.js";
export { ValidationThread, type ValidationThreadOptions } from "./validation-thread.js";
export { validate, type ValidateOptions } from "./verdict.js";
export { type TextVerdict, validateText } from "./validate-text.js";
