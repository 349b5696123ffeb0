const prefix = "type.googleapis.com/envoy.";

export const clusterType = `${prefix}config.cluster.v3.Cluster`;
export const endpointType = `${prefix}config.endpoint.v3.ClusterLoadAssignment`;
export const listenerType = `${prefix}config.listener.v3.Listener`;
export const routeType = `${prefix}config.route.v3.RouteConfiguration`;
export const secretType = `${prefix}extensions.transport_sockets.tls.v3.Secret`;
export const extensionConfigType = `${prefix}config.core.v3.TypedExtensionConfig`;
export const scopedRouteType = `${prefix}config.route.v3.ScopedRouteConfiguration`;
export const virtualHostType = `${prefix}config.route.v3.VirtualHost`;
export const runtimeType = `${prefix}service.runtime.v3.Runtime`;

/** Make before break: "Eventual consistency considerations" of the xDS protocol. Other types follow, in order of first request. */
const pushOrder = [clusterType, endpointType, listenerType, routeType, secretType];

/** The place of a type in a push: types with a smaller number are sent before those with a larger one. */
export function pushRank(typeUrl: string): number {
  const rank = pushOrder.indexOf(typeUrl);
  return rank === -1 ? pushOrder.length : rank;
}

const namedTypes = new Set([endpointType, routeType, secretType, extensionConfigType, virtualHostType]);

/**
 * Whether a type is only ever asked for by name, so that a first request without names is not a wildcard. (A name of "*"
 * is one for every type.)
 */
export function isNamedType(typeUrl: string): boolean {
  return namedTypes.has(typeUrl);
}

/** Whether a state-of-the-world response of this type must hold every resource: what is absent is deleted by the client. */
export function isFullStateType(typeUrl: string): boolean {
  return typeUrl === clusterType || typeUrl === listenerType;
}
