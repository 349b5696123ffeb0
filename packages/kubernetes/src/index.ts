export { ApiError, type ApiErrorCode, type ApiErrorDetails } from "./api-error.js";
export { type ApiClient, type ApiRequest, type ApiResponse } from "./client/api-client.js";
export {
  type ClusterAccess,
  inClusterAccess,
  type KubeconfigOptions,
  parseKubeconfig,
  readKubeconfig,
} from "./client/cluster-access.js";
export { type ApiClientOptions, createApiClient } from "./client/http-client.js";
export { execInPod, type PodCommand, type PodCommandOutput } from "./exec/exec-in-pod.js";
export { type PodRequest, requestInPod } from "./exec/request-in-pod.js";
export { type FieldTree, type Projection } from "./decoding/projection.js";
export { type DiscoveredTypes, readTypes } from "./discovery/read-types.js";
export {
  type NamedDefinition,
  ServedTypes,
  type ServedTypesHandler,
  type ServedTypesOptions,
} from "./discovery/served-types.js";
export { TypeAvailability } from "./discovery/type-availability.js";
export { Reflector, type ReflectorOptions } from "./reflector/reflector.js";
export { type ReflectorEvent, type ReflectorHandler, type ReflectorState } from "./reflector/reflector-event.js";
export { type ReflectorTarget } from "./reflector/list-watch.js";
export { apiVersionOf, resourcePath, type ResourcePathOptions, type ResourceType } from "./resource-type.js";
export {
  checkNamespace,
  describeObject,
  type KubernetesObject,
  type ManagedFields,
  nameOf,
  type ObjectMeta,
  type ObjectName,
} from "./object.js";
export {
  type Access,
  type AccessReviewResult,
  type PathAccess,
  type ResourceAccess,
  reviewSelfAccess,
  reviewSubjectAccess,
} from "./reviews/access-review.js";
export { CachedReviews, type CachedReviewsOptions } from "./reviews/cached-reviews.js";
export { type CertificateRequestOptions, requestCertificate } from "./reviews/certificate-request.js";
export { type IssuedToken, requestToken, type TokenRequestOptions } from "./reviews/token-request.js";
export {
  type BoundObjects,
  reviewToken,
  type TokenReviewRequest,
  type TokenReviewResult,
  type UserInfo,
} from "./reviews/token-review.js";
export { isAtLeast, readServerVersion, type ServerVersion } from "./server-version.js";
export { applyIfChanged, isApplied } from "./writers/apply-if-changed.js";
export {
  type ConditionalWrite,
  isRetriable,
  retryOnConflict,
  type RetryOptions,
  withRetries,
} from "./writers/retries.js";
export {
  applyObject,
  type ApplyOptions,
  createObject,
  deleteObject,
  type DeleteOptions,
  type JsonPatchOperation,
  type Patch,
  patchObject,
  readObject,
  type SubresourceOptions,
  updateObject,
  type WriteOptions,
} from "./writers/write-object.js";
export {
  configMapLock,
  type ElectionLock,
  leaseLock,
  type LeaseLockOptions,
  type StoredRecord,
} from "./leases/election-lock.js";
export { type ElectionRecord } from "./leases/election-record.js";
export { type LeaderElectionOptions } from "./leases/election-options.js";
export { LeaderElection } from "./leases/leader-election.js";
export { type Leadership } from "./leases/leadership.js";
export { takeoverPriority, type TakeoverPriority, type TakeoverPriorityOptions } from "./leases/takeover-priority.js";
export { type EventDetails, type EventObject } from "./events/event-correlator.js";
export { EventRecorder, type EventRecorderOptions } from "./events/event-recorder.js";
