import {
  type ConfigObject,
  grpcRoutes,
  httpRoutes,
  type ParentReference,
  type RouteParents,
  tcpRoutes,
  tlsRoutes,
} from "@istiod/config-schema";
import { type Collection, query, type QueryContext } from "@istiod/incremental";

/** A route of the Gateway API. */
export interface RouteReference {
  readonly kind: "HTTPRoute" | "GRPCRoute" | "TCPRoute" | "TLSRoute";
  /** `namespace/name`. */
  readonly key: string;
}

/** The collections of the kinds of routes, in the order in which their VirtualServices are listed. */
export const routeCollections: Readonly<
  Record<RouteReference["kind"], Collection<ConfigObject<RouteParents & { readonly hostnames?: readonly string[] }>>>
> = { HTTPRoute: httpRoutes, GRPCRoute: grpcRoutes, TCPRoute: tcpRoutes, TLSRoute: tlsRoutes };

/** The fields of a route that determine where it applies. A change of its rules does not change them. */
export interface RouteBinding {
  readonly namespace: string;
  readonly name: string;
  readonly creationTimestamp: number;
  readonly parentRefs: readonly ParentReference[];
  /** As declared. Empty: all hosts of its parents. */
  readonly hostnames: readonly string[];
}

/** The binding of a route; undefined if there is no such route. */
export const routeBinding = query(
  "gatewayApiRouteBinding",
  (q, { kind, key }: RouteReference): RouteBinding | undefined => {
    const object = q.read(routeCollections[kind], key);
    if (object === undefined) return undefined;
    const { namespace, name, creationTimestamp, spec } = object;
    return { namespace, name, creationTimestamp, parentRefs: spec.parentRefs, hostnames: spec.hostnames ?? [] };
  },
);

/** Returns the keys of all routes of some kinds. */
export function routesOfKinds(q: QueryContext, kinds: readonly RouteReference["kind"][]): readonly RouteReference[] {
  return kinds.flatMap((kind) => q.keys(routeCollections[kind]).map((key) => ({ kind, key })));
}
