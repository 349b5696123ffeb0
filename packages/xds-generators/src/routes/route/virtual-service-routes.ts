import { hash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { RouteSchema } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { query, type QueryContext } from "@istiod/incremental";
import {
  type HTTPMatchRequest,
  type HTTPRoute,
  HTTPRouteSchema,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { encodeMessageField, joinEncoded } from "@istiod/protobuf-wire";
import {
  failureMessage,
  inNamespace,
  type ResolvedVirtualService,
  routeDestinations,
  selects,
  virtualService,
} from "@istiod/push-context";
import { type ResourcePart, resourcePart } from "@istiod/resources";
import type { DestinationTraits } from "./destinations.js";
import { isCatchAll, mayBeCatchAll, routeMatch } from "./route-match.js";
import { envoyRoute, type RouteContext, type RouteOwner } from "./route.js";

/** A VirtualService's routes at a port of a gateway or of the mesh. */
interface RouteTarget {
  /** `namespace/name`. */
  readonly virtualService: string;
  /** The port at which requests arrive. */
  readonly port: number;
  /** `mesh`, or the Gateway `namespace/name`. */
  readonly gateway: string;
}

/** A route target with everything that affects the routes. */
export interface RouteRequest extends RouteTarget {
  /** True if TLS is terminated at the port. */
  readonly tls?: true;
  /** True if the port also serves HTTP/3, which responses advertise. */
  readonly http3?: true;
  /** Destinations with traits, in a deterministic order. */
  readonly destinations?: readonly DestinationTraits[];
}

/** Consecutive routes, encoded as elements of a virtual host's routes. */
export interface EncodedRoutes {
  readonly bytes: Uint8Array;
  /** The same as a part of a resource, if they are some of many. */
  readonly part?: ResourcePart;
  /** True if it is one route, which matches every request, or a fraction of all. */
  readonly catchAll: boolean;
}

/** The field of VirtualHost for routes. */
const routesField = 3;

/** The routes of a VirtualService that apply to the client at a port, encoded, up to the first catch-all. */
export const virtualServiceRoutes = query(
  "virtualServiceRoutes",
  (q, request: RouteRequest): readonly EncodedRoutes[] => {
    const owner = q.call(virtualService, request.virtualService);
    if (owner === undefined) {
      return [];
    }
    const routes = applicableRoutes(q, owner, request);
    const context = contextOf(request);
    if (routes.length < minChunkedRoutes || owner.semantics !== "gateway-api")
      return routes.map((route) => ({
        bytes: encodedRoute(q, owner, route, context),
        catchAll: route.catchAll,
      }));
    const { namespace, name, semantics } = owner;
    const own = { namespace, name, semantics };
    const { destinations = [], ...common } = request;
    const traits = new Map(destinations.map((each) => [each.host, each]));
    const commonKey = hash("sha256", JSON.stringify(common), "base64url");
    return splitRoutes(routes).map(({ routes: chunk, catchAll, digest }) => {
      const ofChunk = destinationsOf(chunk, traits);
      const key = `${commonKey} ${JSON.stringify(ofChunk)} ${digest}`;
      const part = q.call(routeChunk, { own, request: { ...common, destinations: ofChunk }, routes: chunk, key });
      return { bytes: part.pieces[0] ?? new Uint8Array(), part, catchAll };
    });
  },
  { key: (request) => JSON.stringify(request) },
);

/**
 * The number of routes from which they are encoded in chunks that are queries of their own, so that a changed object of
 * the Gateway API encodes the chunks of its routes only, and not those of all others for the same host.
 */
const minChunkedRoutes = 64;

/** Greatest number of routes in a chunk. */
const maxChunkSize = 32;

/** Consecutive routes. A catch-all is a chunk of its own. */
interface RouteChunk {
  readonly routes: readonly ApplicableRoute[];
  readonly catchAll: boolean;
  /** Equal only for equal routes. */
  readonly digest: string;
}

/** Splits routes into chunks, whose boundaries depend on their content: an added route changes one chunk. */
function splitRoutes(routes: readonly ApplicableRoute[]): readonly RouteChunk[] {
  const chunks: RouteChunk[] = [];
  let open: ApplicableRoute[] = [];
  let digests: string[] = [];
  const close = (catchAll = false): void => {
    if (open.length > 0) chunks.push({ routes: open, catchAll, digest: hash("sha256", digests.join(), "base64url") });
    [open, digests] = [[], []];
  };
  for (const applicable of routes) {
    const { route, match, catchAll } = applicable;
    const digest = digestOf(route);
    if (catchAll) close();
    open.push(applicable);
    digests.push(match === undefined ? digest : `${digest}${route.match.indexOf(match)}`);
    if (catchAll || endsChunk(digest) || open.length === maxChunkSize) close(catchAll);
  }
  close();
  return chunks;
}

/** Reports whether a digest in base64url is one of an eighth of all. */
function endsChunk(digest: string): boolean {
  return digest < "7";
}

/** Returns the traits of destinations and mirrors of routes. */
function destinationsOf(
  routes: readonly ApplicableRoute[],
  traits: ReadonlyMap<string, DestinationTraits>,
): readonly DestinationTraits[] {
  if (traits.size === 0) return [];
  const http = routes.map(({ route }) => route);
  const hosts = routeDestinations({ http, tcp: [], tls: [] }).map(({ host }) => host);
  return [...new Set(hosts)].flatMap((host) => traits.get(host) ?? []);
}

interface RouteChunkRequest {
  readonly own: RouteOwner;
  readonly request: RouteRequest;
  readonly routes: readonly ApplicableRoute[];
  /** Equal only for equal routes of equal requests. */
  readonly key: string;
}

const routeChunk = query(
  "virtualServiceRouteChunk",
  (q, { own, request, routes }: RouteChunkRequest): ResourcePart => {
    const context = contextOf(request);
    const bytes = joinEncoded(routes.map((route) => encodedRoute(q, own, route, context)));
    return { ...resourcePart(bytes), continues: true };
  },
  { key: ({ key }) => key },
);

function encodedRoute(
  q: QueryContext,
  owner: RouteOwner,
  { route, match }: Pick<ApplicableRoute, "route" | "match">,
  context: RouteContext,
): Uint8Array {
  return encodeMessageField(routesField, [toBinary(RouteSchema, envoyRoute(q, owner, route, match, context))]);
}

function contextOf({ port, tls, http3, destinations = [] }: RouteRequest): RouteContext {
  const traits = new Map(destinations.map((destination) => [destination.host, destination]));
  return { port, tls: tls === true, http3: http3 === true, traitsOf: (host) => traits.get(host) };
}

/** Digests of routes, which are immutable. */
const digests = new WeakMap<HTTPRoute, string>();

function digestOf(route: HTTPRoute): string {
  let digest = digests.get(route);
  if (digest === undefined) {
    digest = hash("sha256", toBinary(HTTPRouteSchema, route), "base64url");
    digests.set(route, digest);
  }
  return digest;
}

/** Reports whether any route of a VirtualService applies to the client at a port. */
export const hasRoutes = query(
  "hasRoutes",
  (q, target: RouteTarget): boolean => {
    const http = q.call(virtualService, target.virtualService)?.spec.http ?? [];
    try {
      return http.some(
        ({ match }) => match.length === 0 || match.some((candidate) => matchApplies(q, candidate, target)),
      );
    } catch (error) {
      failureMessage(error);
      // Routes that cannot be read fail where they are built, not where everybody's are planned.
      return true;
    }
  },
  { key: ({ virtualService: of, port, gateway }) => `${of} ${port} ${gateway}` },
);

interface ApplicableRoute {
  readonly route: HTTPRoute;
  readonly match: HTTPMatchRequest | undefined;
  readonly catchAll: boolean;
}

function applicableRoutes(
  q: QueryContext,
  { spec, semantics }: ResolvedVirtualService,
  target: RouteTarget,
): readonly ApplicableRoute[] {
  const out: ApplicableRoute[] = [];
  for (const route of spec.http) {
    if (route.match.length === 0) {
      out.push({ route, match: undefined, catchAll: true });
      return out;
    }
    for (const match of route.match) {
      if (!matchApplies(q, match, target)) continue;
      const built = mayBeCatchAll(match) ? routeMatch(match, semantics) : undefined;
      const catchAll = built !== undefined && isCatchAll(built);
      out.push({ route, match, catchAll });
      if (catchAll && built.runtimeFraction === undefined) {
        return out;
      }
    }
  }
  return out;
}

/**
 * Reports whether a match applies: by port and gateway, or if it names no gateways, by the client's labels and
 * namespace.
 */
function matchApplies(
  q: QueryContext,
  { port, gateways, sourceLabels, sourceNamespace }: HTTPMatchRequest,
  target: RouteTarget,
): boolean {
  if (port !== 0 && port !== target.port) {
    return false;
  }
  if (gateways.length > 0) {
    return gateways.includes(target.gateway);
  }
  return selects(q, sourceLabels) && (sourceNamespace === "" || q.ask(inNamespace, sourceNamespace));
}
