export { configAuthorization, type ConfigAuthorizationOptions } from "./config-authorization.js";
export { describeIndexFailure, indexFailureLog } from "./index-failure-log.js";
export { type MeshClient, MeshSource, type MeshSourceOptions, type MeshWorkload, readProxy } from "./mesh-source.js";
export type { FailedResource } from "./failed-resources.js";
export {
  type HeldSecretPermission,
  SecretAccessReviews,
  type SecretAccessReviewsOptions,
} from "./secret-access-reviews.js";
export { type SecretClusterChange, SecretClusters } from "./secret-clusters.js";
export { streamIdentity, type StreamIdentityOptions, type StreamRejection } from "./stream-identity.js";
