import { VirtualHost_TlsRequirementType as TlsRequirement } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { query } from "@istiod/incremental";
import { proxylessGrpc, serversOfRoute } from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import { gatewayVirtualHosts, type GatewayVirtualHost } from "./gateway-virtual-hosts.js";
import { encodedRouteConfiguration, maxDirectResponseBytes } from "../route-configuration.js";
import { sessionConfig, statefulSessionFilter } from "../route/stateful-session.js";
import { countsAttempts, encodedVirtualHost } from "../virtual-host.js";
import { type EncodedRoute, virtualServiceRoutes } from "../route/virtual-service-routes.js";

/**
 * The route configuration of this name of a gateway. One whose servers have no virtual hosts answers every request with 404; one whose
 * servers are gone (draining listeners may still ask) has no virtual hosts at all.
 */
export const gatewayRouteConfiguration = query("gatewayRouteConfiguration", (q, name: string): Resource => {
  const hosts = q.call(gatewayVirtualHosts, name);
  const [server] = q.call(serversOfRoute, name) ?? [];
  if (hosts === undefined || server === undefined) {
    return encodedRouteConfiguration({ name }, []);
  }
  const virtualHosts =
    hosts.length === 0
      ? [encodedVirtualHost({ name: `blackhole:${server.port.number}`, domains: ["*"] })]
      : hosts.map((host) => q.call(gatewayVirtualHost, host));
  return encodedRouteConfiguration(
    { name, ignorePortInHostMatching: !q.ask(proxylessGrpc), maxDirectResponseBodySizeBytes: maxDirectResponseBytes },
    virtualHosts,
  );
});

/** A route of a gateway that takes every request of a host, and is never reached because another one does too. */
export interface HiddenRoute {
  readonly host: string;
  readonly port: number;
  /** The VirtualService whose route is reached. */
  readonly winner: string;
  readonly loser: string;
}

/** VirtualServices of which a route in the route configuration of this name is never reached: each host has one route that takes every request, the first. */
export const hiddenRoutes = query("hiddenRoutes", (q, name: string): readonly HiddenRoute[] =>
  (q.call(gatewayVirtualHosts, name) ?? []).flatMap(({ domains: [host = ""], routes }) => {
    const takeAll = routes.filter((request) => q.call(virtualServiceRoutes, request).some(({ catchAll }) => catchAll));
    const winner = takeAll[0]?.virtualService ?? "";
    const losers = new Map(
      takeAll
        .filter(({ virtualService }) => virtualService !== winner)
        .map((request) => [request.virtualService, request]),
    );
    return [...losers.values()].map(({ virtualService, port }) => ({ host, port, winner, loser: virtualService }));
  }),
);

/** A virtual host of a gateway, encoded as one element of a route configuration's virtual hosts. */
const gatewayVirtualHost = query(
  "gatewayVirtualHost",
  (q, { name, domains, routes, requiresTls, session }: GatewayVirtualHost): Uint8Array =>
    encodedVirtualHost(
      {
        name,
        domains: [...domains],
        includeRequestAttemptCount: countsAttempts(q),
        requireTls: requiresTls ? TlsRequirement.ALL : TlsRequirement.NONE,
        typedPerFilterConfig: session === undefined ? {} : { [statefulSessionFilter]: sessionConfig(session) },
      },
      catchAllsLast(routes.flatMap((request) => q.call(virtualServiceRoutes, request))).map(({ bytes }) => bytes),
    ),
);

/** Routes of several VirtualServices in one virtual host: those that take every request would hide what follows them. */
function catchAllsLast(routes: readonly EncodedRoute[]): readonly EncodedRoute[] {
  return [...routes.filter(({ catchAll }) => !catchAll), ...routes.filter(({ catchAll }) => catchAll)];
}
