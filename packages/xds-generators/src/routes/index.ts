export { hiddenRoutes, type HiddenRoute } from "./gateway/gateway-route-configuration.js";
export { inboundRouteConfiguration } from "./inbound-route-configuration.js";
export { routeOf, routes, sidecarRouteNames } from "./routes.js";
export { repeatedDomains, shadowedHosts } from "./sidecar/sidecar-route-configuration.js";
export type { ShadowedHost } from "./sidecar/virtual-host-plan.js";
