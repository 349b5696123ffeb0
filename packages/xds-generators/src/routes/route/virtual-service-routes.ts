import { toBinary } from "@bufbuild/protobuf";
import { RouteSchema } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { query, type QueryContext } from "@istiod/incremental";
import type { HTTPMatchRequest, HTTPRoute } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
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
import { envoyRoute } from "./route.js";

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
    const traits = new Map(request.destinations?.map((destination) => [destination.host, destination]));
    const context = {
      port: request.port,
      tls: request.tls === true,
      http3: request.http3 === true,
      traitsOf: (host: string) => traits.get(host),
    };
    return applicableRoutes(q, owner, request).map(({ route, match, catchAll }) => ({
      bytes: encodeMessageField(routesField, [toBinary(RouteSchema, envoyRoute(q, owner, route, match, context))]),
      catchAll,
    }));
  },
  { key: (request) => JSON.stringify(request) },
);

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
