export { unreachableRoutes, type UnreachableRoute } from "./gateway/gateway-route-configuration.js";
export { inboundRouteConfiguration } from "./inbound-route-configuration.js";
export { routeConfigurationByName, routeConfigurations, sidecarRouteNames, unpatchedRoutes } from "./routes.js";
export { duplicateDomains, shadowedHosts } from "./sidecar/sidecar-route-configuration.js";
export type { ShadowedHost } from "./sidecar/virtual-host-plan.js";
export { routesLeftOut } from "./gateway/routes-left-out.js";
