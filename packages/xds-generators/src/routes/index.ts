export { gatewayRouteNames } from "./gateway-route-configuration.js";
export { inboundRouteConfiguration, type InboundPort } from "./inbound-route-configuration.js";
export { defaultOutboundRoute } from "./default-route.js";
export { encodedRouteConfiguration, maxDirectResponseBytes } from "./route-configuration.js";
export { httpProxyRoute } from "./sidecar-route-configuration.js";
export { routeOf, routesNamed } from "./routes.js";
