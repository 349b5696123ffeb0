import { hash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { RouteSchema } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { query, type QueryContext } from "@istiod/incremental";
import {
  type HTTPMatchRequest,
  type HTTPRoute,
  HTTPRouteSchema,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { encodeMessageField } from "@istiod/protobuf-wire";
import {
  failureMessage,
  inNamespace,
  type ResolvedVirtualService,
  selects,
  virtualService,
} from "@istiod/push-context";
import type { DestinationTraits } from "./destinations.js";
import { isCatchAll, routeMatch } from "./route-match.js";
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

/** A route, encoded as an element of a virtual host's routes. */
export interface EncodedRoute {
  readonly bytes: Uint8Array;
  /** True if it matches every request, or a fraction of all. */
  readonly catchAll: boolean;
}

/** The field of VirtualHost for routes. */
const routesField = 3;

/** The routes of a VirtualService that apply to the client at a port, encoded, up to the first catch-all. */
export const virtualServiceRoutes = query(
  "virtualServiceRoutes",
  (q, request: RouteRequest): readonly EncodedRoute[] => {
    const owner = q.call(virtualService, request.virtualService);
    if (owner === undefined) {
      return [];
    }
    const routes = applicableRoutes(q, owner, request);
    const context = contextOf(request);
    if (routes.length < minSeparateRoutes || owner.semantics !== "gateway-api")
      return routes.map(({ route, match, catchAll }) => ({
        bytes: encodedRoute(q, owner, { route, match }, context),
        catchAll,
      }));
    const { namespace, name, semantics } = owner;
    const own = { namespace, name, semantics };
    const { destinations = [], ...common } = request;
    const traits = new Map(destinations.map((each) => [each.host, each]));
    const commonKey = hash("sha256", JSON.stringify(common), "base64url");
    return routes.map(({ route, match, catchAll }) => {
      const at = match === undefined ? -1 : route.match.indexOf(match);
      const ofRoute = destinationsOf(route, traits);
      const key = `${commonKey} ${JSON.stringify(ofRoute)} ${digestOf(route)} ${at}`;
      return {
        bytes: q.call(separateRoute, { own, request: { ...common, destinations: ofRoute }, route, at, key }),
        catchAll,
      };
    });
  },
  { key: (request) => JSON.stringify(request) },
);

/**
 * The number of routes from which each is a query of its own, so that a changed object of the Gateway API encodes its
 * routes only, and not those of all others for the same host.
 */
const minSeparateRoutes = 64;

interface SeparateRoute {
  readonly own: RouteOwner;
  readonly request: RouteRequest;
  readonly route: HTTPRoute;
  /** Index of the match; -1 if the route has none. */
  readonly at: number;
  /** Equal only for equal routes of equal requests. */
  readonly key: string;
}

/** Returns the traits of a route's own destinations and mirrors. */
function destinationsOf(
  { route, mirror, mirrors }: HTTPRoute,
  traits: ReadonlyMap<string, DestinationTraits>,
): readonly DestinationTraits[] {
  if (traits.size === 0) return [];
  const all = [
    ...route.map(({ destination }) => destination),
    mirror,
    ...mirrors.map(({ destination }) => destination),
  ];
  return [...new Set(all.map((destination) => destination?.host ?? ""))].flatMap((host) => traits.get(host) ?? []);
}

const separateRoute = query(
  "virtualServiceRoute",
  (q, { own, request, route, at }: SeparateRoute): Uint8Array =>
    encodedRoute(q, own, { route, match: route.match[at] }, contextOf(request)),
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
    for (const match of route.match.filter((candidate) => matchApplies(q, candidate, target))) {
      const built = routeMatch(match, semantics);
      const catchAll = isCatchAll(built);
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
