export type { AcceptedRouteContext } from "./accepted-route-context.js";
export { acceptedVirtualHosts } from "./accepted-virtual-hosts.js";
export { grpcCluster } from "./clusters.js";
export { grpcLoadAssignment } from "./endpoints.js";
export { grpcListener } from "./listeners.js";
export { grpcRouteConfiguration } from "./routes.js";
