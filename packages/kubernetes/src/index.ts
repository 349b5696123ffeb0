export { ApiError, type ApiErrorCode, type ApiErrorDetails } from "./api-error.js";
export { type ApiClient, type ApiRequest, type ApiResponse } from "./client/api-client.js";
export { apiVersionOf, resourcePath, type ResourcePathOptions, type ResourceType } from "./resource-type.js";
