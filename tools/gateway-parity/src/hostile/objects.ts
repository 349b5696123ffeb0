import { gatewayPorts, type MeshObject, service } from "@istiod/gateway-api/testing";

export const GROUP = "gateway.networking.k8s.io";
export const ISTIO_GROUP = "networking.istio.io";

/** Objects of the Gateway API in `gatewayMesh` that are made to harm others, and an innocent route beside them. */
export interface HostileMesh {
  readonly name: string;
  readonly objects: readonly MeshObject[];
}

/** Creation times of what others may not harm, and of what is hostile. */
export const [old, young] = ["2024-01-01T00:00:00Z", "2024-01-01T00:00:09Z"] as const;

/** Returns an object of the Gateway API. @param key `namespace/name` */
export function object(kind: string, key: string, spec: object, creationTimestamp: string = young): MeshObject {
  const [namespace = "", name = ""] = key.split("/");
  const version = kind === "ReferenceGrant" ? "v1beta1" : "v1";
  return { apiVersion: `${GROUP}/${version}`, kind, metadata: { name, namespace, creationTimestamp }, spec };
}

/** Returns a listener of HTTP that routes of all namespaces may attach to, unless fields say otherwise. */
export function listener(name: string, port: number, fields: object = {}): object {
  return { name, port, protocol: "HTTP", allowedRoutes: { namespaces: { from: "All" } }, ...fields };
}

/** Returns the settings of a listener with a certificate. */
export function tls(name = "certificate", namespace?: string): object {
  return { certificateRefs: [{ name, ...(namespace && { namespace }) }] };
}

export const passthrough = { mode: "Passthrough" };

const edge = (listeners: readonly object[], fields: object): MeshObject =>
  object(
    "Gateway",
    "infra/edge",
    { gatewayClassName: "istio", allowedListeners: { namespaces: { from: "All" } }, listeners, ...fields },
    old,
  );

/** Returns a backend at port 80. */
export function backend(name: string, fields: object = {}): object {
  return { name, port: 80, ...fields };
}

/** Returns a rule of an HTTPRoute. */
export function rule(path: string, backendRefs: readonly object[] = [backend("cart")]): object {
  return { matches: [{ path: { type: "PathPrefix", value: path } }], backendRefs };
}

/** Reference to the Gateway. */
export const toEdge = { name: "edge", namespace: "infra" };

/** Returns an HTTPRoute of the Gateway in the namespace `shop`. */
export function route(name: string, fields: object): MeshObject {
  return object("HTTPRoute", `shop/${name}`, { parentRefs: [toEdge], rules: [rule("/")], ...fields });
}

/** The kinds of routes with rules that lead to one backend, which has to have the port of the protocol. */
export const rulesByKind = {
  HTTPRoute: (ref: object = backend("cart")) => [{ backendRefs: [ref] }],
  GRPCRoute: (ref: object = backend("cart", { port: 7070 })) => [{ backendRefs: [ref] }],
  TLSRoute: (ref: object = backend("cart", { port: 9000 })) => [{ backendRefs: [ref] }],
  TCPRoute: (ref: object = backend("cart", { port: 9000 })) => [{ backendRefs: [ref] }],
} as const;
export type RouteKind = keyof typeof rulesByKind;
export const routeKinds = Object.keys(rulesByKind) as RouteKind[];

/** Returns a route of any kind in the namespace `shop`. TCPRoutes have no hostnames. */
export function routeOf(
  kind: RouteKind,
  name: string,
  { parentRefs = [toEdge], hostname, rules = rulesByKind[kind]() }: RouteFields,
): MeshObject {
  const hostnames = kind === "TCPRoute" || hostname === undefined ? {} : { hostnames: [hostname] };
  return object(kind, `shop/${name}`, { parentRefs, ...hostnames, rules });
}

interface RouteFields {
  readonly parentRefs?: readonly object[];
  readonly hostname?: string;
  readonly rules?: readonly object[];
}

/**
 * Returns a Gateway with its Service, and a route that no other object may harm.
 *
 * @param listeners listeners of the Gateway, in addition to that of the route
 */
export function innocent(listeners: readonly object[] = [], fields: object = {}): readonly MeshObject[] {
  const ports = Object.entries(gatewayPorts).map(([name, port]) => `${name}:${port}`);
  return [
    service("infra/edge-istio", ports, { clusterIP: "10.96.3.201" }),
    edge([listener("http", gatewayPorts.http), ...listeners], fields),
    object(
      "HTTPRoute",
      "shop/innocent",
      { parentRefs: [toEdge], hostnames: ["innocent.example.com"], rules: [rule("/")] },
      old,
    ),
  ];
}

/** Returns a ListenerSet in the namespace `shop`. */
export function listenerSet(name: string, parentRef: object, listeners: readonly object[]): MeshObject {
  return object("ListenerSet", `shop/${name}`, { parentRef, listeners });
}

/** Returns a reference to a ListenerSet of the own namespace. */
export function toSet(name: string): object {
  return { group: GROUP, kind: "ListenerSet", name };
}

/** Returns the results for 0, 1 and so on. */
export function times<T>(count: number, of: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => of(at));
}
