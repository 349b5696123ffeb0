import { clone, create } from "@bufbuild/protobuf";
import {
  HTTPMatchRequestSchema,
  type HTTPRoute,
  HTTPRouteSchema,
  L4MatchAttributesSchema,
  type TCPRoute,
  TCPRouteSchema,
  type TLSRoute,
  TLSRouteSchema,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { hostsOverlap, intersectHosts } from "../hostnames.js";

/** Returns HTTP routes that apply to one port only. */
export function httpRoutesAtPort(routes: readonly HTTPRoute[], port: number): readonly HTTPRoute[] {
  return routes.map((route) => {
    const out = clone(HTTPRouteSchema, route);
    for (const match of out.match) match.port = port;
    if (out.match.length === 0) out.match = [create(HTTPMatchRequestSchema, { port })];
    return out;
  });
}

/** Returns TCP routes that apply to one port only. */
export function tcpRoutesAtPort(routes: readonly TCPRoute[], port: number): readonly TCPRoute[] {
  return routes.map((route) => {
    const out = clone(TCPRouteSchema, route);
    for (const match of out.match) match.port = port;
    if (out.match.length === 0) out.match = [create(L4MatchAttributesSchema, { port })];
    return out;
  });
}

/** A host of an object of the mesh that TLS routes apply to. */
export interface TlsParentHost {
  readonly host: string;
  /** All hosts of the object. */
  readonly hosts: readonly string[];
  readonly port: number | undefined;
}

/**
 * Returns TLS routes for one host of an object of the mesh. Routes without hostnames match the names of the object. Of
 * several names, those that belong to the host remain.
 */
export function tlsRoutesForMesh(
  routes: readonly TLSRoute[],
  { host, hosts, port }: TlsParentHost,
): readonly TLSRoute[] {
  return routes.map((route) => {
    const out = clone(TLSRouteSchema, route);
    const [only] = out.match;
    if (only !== undefined && only.sniHosts.length === 1 && only.sniHosts[0] === "*") only.sniHosts = [...hosts];
    if (port !== undefined) for (const match of out.match) match.port = port;
    if (only !== undefined && only.sniHosts.length > 1)
      only.sniHosts = only.sniHosts.filter((name) => hostsOverlap(host, name));
    return out;
  });
}

/** Returns TLS routes with those of their names that a listener with a hostname accepts, if there are any. */
export function tlsRoutesOfListener(routes: readonly TLSRoute[], hostname: string): readonly TLSRoute[] {
  return routes.flatMap((route) => {
    const out = clone(TLSRouteSchema, route);
    for (const match of out.match) match.sniHosts = [...intersectHosts(match.sniHosts, [hostname])];
    return out.match.length === 0 || out.match.some(({ sniHosts }) => sniHosts.length > 0) ? [out] : [];
  });
}
