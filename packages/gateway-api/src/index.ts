export {
  type InferencePoolService,
  inferencePoolService,
  inferencePoolServices,
  type ObservedPoolService,
  poolServiceState,
} from "./policies/inference-pool-service.js";
export {
  type BuiltInClass,
  builtInClasses,
  controllers,
  type DefaultClassNames,
  type GatewayRole,
} from "./classes/built-in-classes.js";
export { servedClass, type ServedClass } from "./classes/gateway-classes.js";
export { gatewayClassStatus, type GatewayClassStatus } from "./classes/gateway-class-status.js";
export { attachableListeners, clientCertificateAnnotation, gatewayApiGateways } from "./gateways/derived-gateways.js";
export { isManaged } from "./gateways/gateway-services.js";
export { type AttachableListener, type ListenerParent, type RouteKind } from "./listeners/attachable-listener.js";
export { targetsOfTlsPolicy, tlsOfPolicy, type TlsPolicyTarget } from "./policies/backend-tls-policy.js";
export { backendPolicyHosts, backendPolicyRules, hasBackendPolicies } from "./policies/derived-destination-rules.js";
export {
  gatewaysOfInferencePools,
  inferencePoolStatus,
  type InferencePoolStatus,
} from "./policies/inference-pool-status.js";
export {
  type AncestorStatus,
  backendStatus,
  backendTlsPolicyStatus,
  backendTrafficPolicyStatus,
  type PolicyStatus,
} from "./policies/policy-status.js";
export { gatewayApiGroup, gatewayApiSuffix, isDerivedName } from "./names.js";
export { type CrossNamespaceReference, isGranted } from "./references/reference-grants.js";
export { attachedRoutes, routesNaming } from "./routes/attached-routes.js";
export { gatewayApiVirtualService, gatewayApiVirtualServiceKeys } from "./routes/derived-virtual-services.js";
export { tlsRouteHostname } from "./routes/l4-virtual-services.js";
export { features as gatewayApiFeatures } from "./settings/features.js";
export { type StatusCondition } from "./status/conditions.js";
export { gatewayStatus, type GatewayStatus, type StatusAddress } from "./status/gateway-status.js";
export { type ListenerStatus } from "./status/listener-status.js";
export { listenerSetStatus, type ListenerSetStatus } from "./status/listener-set-status.js";
export { inferencePoolServiceName } from "./routes/backends.js";
export { overriddenRules, type OverriddenRule } from "./routes/overridden-rules.js";
export { routeListeners } from "./routes/route-listeners.js";
export { type RouteReference } from "./routes/route.js";
export { type RouteParentStatus, type RouteStatus, routeStatus } from "./routes/route-status.js";
export type { Attachment, ObjectStatus } from "./status/object-status.js";
export {
  formatReference,
  isAboutAddresses,
  isFault,
  type PlacedCondition,
  placedConditions,
  type PlacesOfSpec,
} from "./status/placed-conditions.js";
export type { UnservedReference } from "./status/unserved-reasons.js";
export { type StatusKind, statusKinds } from "./status/status-kinds.js";
export { shareHeader } from "./routes/conversion/matches.js";
