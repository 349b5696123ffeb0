import { query } from "@istiod/incremental";
import {
  type BoundServer,
  bySpecificity,
  hasRoutesOf,
  intersectHosts,
  features,
  hostsForNamespace,
  mostSpecificMatch,
  routedHosts,
  scopedService,
  scopeOf,
  type ScopeRef,
  serversOfRoute,
  serviceInScope,
  virtualServiceHeader,
  virtualServicesForGateway,
  visibleAliases,
  visibleDeclaration,
} from "@istiod/push-context";
import { keyOfId, type Service, service, splitKey } from "@istiod/service-discovery";
import { hostPort } from "../domains.js";
import { type DestinationTraits, destinationTraits, hasConsistentHash } from "../route/destinations.js";
import type { SessionKey } from "../route/stateful-session.js";
import { hasRoutes, type RouteRequest } from "../route/virtual-service-routes.js";

/** Everything that determines a virtual host of a gateway. */
export interface GatewayVirtualHost {
  readonly name: string;
  readonly domains: readonly string[];
  /**
   * The routes of VirtualServices, in order. All routes of a tier precede those of the next: only routes of the Gateway
   * API have more than one, see {@link tiersOf}.
   */
  readonly tiers: readonly (readonly RouteRequest[])[];
  /** True if plaintext requests are redirected to HTTPS. */
  readonly requiresTls: boolean;
  readonly session?: SessionKey;
}

/**
 * The virtual hosts of a gateway's route configuration, sorted by name: for each host that a VirtualService and a
 * server share, and for the other hosts of servers that redirect. Undefined if the gateway has no such servers.
 * Source: pilot/pkg/networking/core/gateway.go, buildGatewayHTTPRouteConfig.
 */
export const gatewayVirtualHosts = query(
  "gatewayVirtualHosts",
  (q, routeName: string): readonly GatewayVirtualHost[] | undefined => {
    const servers = q.call(serversOfRoute, routeName);
    if (servers === undefined) {
      return undefined;
    }
    const scope = scopeOf(q);
    const byHost = new Map<string, HostDraft>();
    const requests = new Map<string, RouteRequest>();
    const http3 = servers.some(({ http3 }) => http3);
    for (const server of servers) {
      for (const virtualService of q.call(virtualServicesForGateway, server.gateway)) {
        const header = q.call(virtualServiceHeader, virtualService);
        const hosts =
          header === undefined ? [] : intersectHosts(hostsForNamespace(server.hosts, header.namespace), header.hosts);
        const id = `${server.gateway} ${virtualService}`;
        const target = { virtualService, port: server.port.number, gateway: server.gateway };
        if (
          hosts.length === 0 ||
          !hasRoutesOf(q, { gateway: server.gateway, virtualService }, server.index) ||
          (!requests.has(id) && !q.call(hasRoutes, target))
        ) {
          continue;
        }
        const destinations = q.call(gatewayDestinations, { scope, virtualService, port: server.port.number });
        const request = requests.get(id) ?? {
          ...target,
          ...(server.tls === undefined ? {} : { tls: true as const }),
          ...(http3 ? { http3: true as const } : {}),
          ...(destinations.length === 0 ? {} : { destinations }),
        };
        requests.set(id, request);
        for (const host of new Set(hosts.map((each) => each.toLowerCase()))) {
          const session = destinations.find((destination) => destination.host === host)?.session;
          const draft = byHost.get(host) ?? newHostDraft(host, server, session);
          byHost.set(host, draft);
          const isIngress = header?.semantics === "ingress";
          if (!isIngress || !draft.routes.some((other) => other.request.virtualService === virtualService)) {
            const declaredHost = mostSpecificMatch(host, lowerCase(header?.hosts)) ?? host;
            draft.routes.push({ request, declaredHost, isFromGatewayApi: header?.semantics === "gateway-api" });
          }
          draft.requiresTls ||= redirectsToHttps(server);
        }
      }
      for (const host of redirectsToHttps(server) ? server.hosts.map((each) => each.toLowerCase()) : []) {
        const draft = byHost.get(host) ?? newHostDraft(host, server);
        byHost.set(host, draft);
        draft.requiresTls = true;
      }
    }
    const hosts = features.routeCollapse(q) ? collapseHosts(byHost) : [...byHost.values()];
    return hosts
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
      .map(({ routes, ...host }) => ({ ...host, tiers: tiersOf(routes) }));
  },
);

/**
 * The destinations of a VirtualService with traits that affect its routes at a gateway. A host resolves to the service
 * in the VirtualService's own namespace, if it is visible to the gateway.
 */
const gatewayDestinations = query(
  "gatewayDestinations",
  (
    q,
    {
      scope,
      virtualService,
      port,
    }: { readonly scope: ScopeRef; readonly virtualService: string; readonly port: number },
  ): readonly DestinationTraits[] => {
    const [namespace] = splitKey(virtualService);
    return q.call(routedHosts, { virtualService }).flatMap(({ host }) => {
      const aliased = q.call(visibleAliases, scope.namespace)[host];
      const hostname = aliased ?? host;
      const own = visibleDeclaration(q, `${namespace}/${hostname}`, scope.namespace);
      const scoped = q.call(serviceInScope, { scope, hostname });
      const found: Service | undefined =
        own !== undefined ? q.call(service, own) : scoped && q.call(scopedService, scoped);
      const serviceNamespace = scoped && splitKey(keyOfId(scoped.service))[0];
      const hashed = serviceNamespace !== undefined && q.call(hasConsistentHash, { host: hostname, serviceNamespace });
      return destinationTraits(q, host, port, found, hashed ? serviceNamespace : undefined, aliased) ?? [];
    });
  },
);

/** Routes of a VirtualService for one host. */
interface HostRoutes {
  readonly request: RouteRequest;
  /** The host of the VirtualService that includes the host of the routes. */
  readonly declaredHost: string;
  readonly isFromGatewayApi: boolean;
}

/**
 * Returns the routes of one host in the order of the hosts that they were declared for, of which a listener may have
 * left the same: those of exact hosts first, then those of longer wildcards. Source: `hostnames` of HTTPRoute in the
 * Gateway API 1.7, feature GatewayRouteHostnameIntersectionPrecedence. Istio's own VirtualServices keep their order.
 */
function tiersOf(routes: readonly HostRoutes[]): readonly (readonly RouteRequest[])[] {
  if (!routes.every(({ isFromGatewayApi }) => isFromGatewayApi)) return [routes.map(({ request }) => request)];
  const tiers = new Map<string, RouteRequest[]>();
  for (const { declaredHost, request } of routes) {
    const tier = tiers.get(declaredHost) ?? [];
    tier.push(request);
    tiers.set(declaredHost, tier);
  }
  return [...tiers].sort(([a], [b]) => bySpecificity(a, b)).map(([, requests]) => requests);
}

function lowerCase(hosts: readonly string[] = []): readonly string[] {
  return hosts.map((host) => host.toLowerCase());
}

interface HostDraft {
  readonly name: string;
  readonly domains: string[];
  readonly routes: HostRoutes[];
  requiresTls: boolean;
  readonly session?: SessionKey;
}

function newHostDraft(host: string, { port }: BoundServer, session?: SessionKey): HostDraft {
  return {
    name: hostPort(host, port.number),
    domains: [host],
    routes: [],
    requiresTls: false,
    ...(session && { session }),
  };
}

function redirectsToHttps({ tls }: BoundServer): boolean {
  return tls?.httpsRedirect === true;
}

/**
 * Collapses hosts with the same routes into one virtual host, named after the most specific one. Only the last virtual
 * host with those routes is extended, and only if both or neither redirect.
 */
function collapseHosts(byHost: ReadonlyMap<string, HostDraft>): HostDraft[] {
  const out: HostDraft[] = [];
  const lastWith = new Map<string, HostDraft>();
  for (const [host, draft] of [...byHost].sort(([a], [b]) => bySpecificity(a, b))) {
    const id = JSON.stringify(
      draft.routes.map(({ request: { gateway, virtualService } }) => [gateway, virtualService]),
    );
    const same = lastWith.get(id);
    if (same?.requiresTls === draft.requiresTls) {
      same.domains.push(host);
    } else {
      lastWith.set(id, draft);
      out.push(draft);
    }
  }
  return out;
}
