export { destinationsOf } from "./resolve-names.js";
export { meshGateway, resolveGateway, resolveHost, type NameScope } from "./short-names.js";
export {
  virtualService,
  type ResolvedVirtualService,
  type RouteProblem,
  type RouteSemantics,
} from "./virtual-service.js";
export {
  routedHosts,
  virtualServiceHeader,
  virtualServiceOrder,
  virtualServicesBoundTo,
  virtualServicesForGateway,
  virtualServicesVisibleAt,
  type RoutedHost,
  type VirtualServiceHeader,
} from "./virtual-service-index.js";
