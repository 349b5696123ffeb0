import { create } from "@bufbuild/protobuf";
import { RouteSchema } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { isDerivedName } from "@istiod/gateway-api";
import { query } from "@istiod/incremental";
import {
  bySpecificity,
  hostsOverlap,
  isHttpsServerWithTlsTermination,
  mergedGateway,
  serversOfRoute,
} from "@istiod/push-context";
import { anyRequest } from "../route/route-match.js";
import { encodeVirtualHost } from "../virtual-host.js";
import type { GatewayVirtualHost } from "./gateway-virtual-hosts.js";

/** Hosts of other HTTPS listeners of a port, beyond which unrelated ones are left out: their requests get 404. */
const mostUnrelatedHosts = 100;

/** The hosts of an HTTPS listener of the Gateway API, and those for which it answers 421. */
export interface MisdirectedHosts {
  readonly own: readonly string[];
  readonly others: readonly string[];
}

/**
 * The hosts for which a route configuration answers 421: those of other HTTPS listeners of the Gateway API at the same
 * port. A connection whose SNI selected one listener may not be used for hosts that another one matches more
 * specifically, or alone. Undefined if there are none. Source: `Listener.hostname` of Gateway in the Gateway API 1.7.
 */
export const misdirectedHosts = query("misdirectedHosts", (q, routeName: string): MisdirectedHosts | undefined => {
  const [server, ...more] = q.call(serversOfRoute, routeName) ?? [];
  if (server === undefined || more.length > 0 || !isOfGatewayApi(server) || !isHttpsServerWithTlsTermination(server))
    return undefined;
  const group = q
    .call(mergedGateway)
    ?.groups.find(({ servers }) => servers.some(({ routeName: name }) => name === routeName));
  const own = lowerCase(server.sniHosts);
  const found = (group?.servers ?? [])
    .filter((other) => other.routeName !== routeName && isOfGatewayApi(other) && isHttpsServerWithTlsTermination(other))
    .flatMap(({ sniHosts }) => lowerCase(sniHosts))
    .filter((host) => !own.includes(host));
  if (found.length === 0) return undefined;
  const hosts = [...new Set(found)].sort(bySpecificity);
  const isRelated = (host: string): boolean => own.some((each) => hostsOverlap(each, host));
  // All hosts that the listener does not have are those of one without a hostname.
  const unrelated = hosts.includes("*") ? [] : hosts.filter((host) => !isRelated(host)).slice(0, mostUnrelatedHosts);
  return { own, others: [...hosts.filter(isRelated), ...unrelated] };
});

/**
 * Returns the virtual hosts that answer misdirected requests, and those requests of the listener's own hosts for which
 * it has no routes, encoded.
 *
 * @param hosts the other virtual hosts
 */
export function misdirectedVirtualHosts(
  { own, others }: MisdirectedHosts,
  port: number,
  hosts: readonly GatewayVirtualHost[],
): readonly Uint8Array[] {
  const taken = new Set(hosts.flatMap(({ domains }) => domains));
  const domains = others.filter((host) => !taken.has(host));
  const unrouted = own.filter((host) => host !== "*" && !taken.has(host));
  return [
    ...(unrouted.length === 0 ? [] : [encodeVirtualHost({ name: `blackhole:${port}`, domains: unrouted })]),
    ...(domains.length === 0
      ? []
      : [encodeVirtualHost({ name: `misdirected:${port}`, domains, routes: [misdirectedRoute()] })]),
  ];
}

function misdirectedRoute(): ReturnType<typeof create<typeof RouteSchema>> {
  return create(RouteSchema, {
    name: "misdirected",
    match: anyRequest(),
    action: { case: "directResponse", value: { status: 421 } },
  });
}

function isOfGatewayApi({ gateway }: { readonly gateway: string }): boolean {
  return isDerivedName(gateway);
}

function lowerCase(hosts: readonly string[]): readonly string[] {
  return hosts.map((host) => host.toLowerCase());
}
