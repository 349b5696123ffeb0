export {
  type ClusterFaults,
  type DelayOptions,
  type DropMode,
  type FailOptions,
  type RequestFilter,
} from "./faults.js";
export { type ApiServer, type ApiServerOptions, startApiServer } from "./api-server.js";
export { type TokenUser } from "./auth/authenticator.js";
export { type LoggedRequest, type PodLog } from "./http/handler.js";
export { type Kubeconfig } from "./http/kubeconfig.js";
export { type DirectObjects, type ObjectInput, type ObjectReference } from "./storage/direct-objects.js";
export { type ApiObject, type ManagedFieldsEntry, type ObjectMeta, type OwnerReference } from "./storage/object.js";
