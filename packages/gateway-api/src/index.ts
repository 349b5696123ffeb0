export {
  attachableListeners,
  type AttachableListener,
  type ListenerParent,
  type RouteKind,
} from "./listeners/attachable-listener.js";
export { gatewayApiGateways } from "./listeners/derived-gateways.js";
export { type CrossNamespaceReference, isGranted } from "./references/reference-grants.js";
export { attachedRoutes, routesNaming } from "./routes/attached-routes.js";
export { gatewayApiVirtualService, gatewayApiVirtualServiceKeys } from "./routes/derived-virtual-services.js";
export { inferencePoolServiceName } from "./routes/backends.js";
export { type RouteReference } from "./routes/route.js";
export { type RouteParentStatus, type RouteStatus, routeStatus, type StatusCondition } from "./routes/route-status.js";
