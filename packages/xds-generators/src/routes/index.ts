export { defaultOutboundRoute } from "./default-route.js";
export { inboundRouteConfiguration, type InboundPort } from "./inbound-route-configuration.js";
export { routeOf, routes } from "./routes.js";
export { httpProxyRoute } from "./sidecar-route-configuration.js";
