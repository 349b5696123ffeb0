export { hiddenRoutes, type HiddenRoute } from "./gateway-route-configuration.js";
export { defaultOutboundRoute } from "./default-route.js";
export { inboundRouteConfiguration, type InboundPort } from "./inbound-route-configuration.js";
export { routeOf, routes, sidecarRouteNames } from "./routes.js";
export { httpProxyRoute, repeatedDomains, shadowedHosts } from "./sidecar-route-configuration.js";
export type { ShadowedHost } from "./virtual-host-plan.js";
