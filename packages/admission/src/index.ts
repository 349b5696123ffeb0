export { AdmissionError, type AdmissionErrorCode } from "./errors.js";
export {
  type AdmissionContext,
  type AdmissionHandler,
  admissionHandler,
  type AdmissionHandlerOptions,
  type Admit,
} from "./handler.js";
export { isJsonObject, type JsonObject } from "./json.js";
export {
  type AdmissionResponse,
  type Allowed,
  type Denied,
  encodeReview,
  type JsonPatchOperation,
  type StatusCause,
} from "./response.js";
export {
  type AdmissionOperation,
  type AdmissionRequest,
  type AdmissionReview,
  type GroupVersionKind,
  type GroupVersionResource,
  readReview,
  type ReviewLimits,
  type ReviewVersion,
} from "./review.js";
