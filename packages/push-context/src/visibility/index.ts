export { exportScope, isExportedTo, type ExportScope } from "./export-to.js";
export {
  bySpecificity,
  commonHosts,
  hostsForNamespace,
  hostsMeet,
  hostWithin,
  mostSpecificMatch,
} from "./host-names.js";
export {
  egressListeners,
  ingressListeners,
  listenerKey,
  outboundTraffic,
  scopeKey,
  scopeOf,
  sidecarSpec,
  type EgressListener,
  type OutboundTraffic,
  type ScopeListener,
  type ScopeRef,
} from "./scope.js";
export { scopedAliases, scopedService, type ScopedService } from "./scoped-service.js";
export { scopeServices, serviceInScope, servicesOf } from "./scoped-services.js";
export { mostSpecificVirtualService, virtualServicesOf } from "./scoped-virtual-services.js";
export { serviceHeader, visibleServices, type ServiceHeader } from "./service-header.js";
