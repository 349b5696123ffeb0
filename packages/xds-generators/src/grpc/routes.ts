import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { query, type QueryContext } from "@istiod/incremental";
import { joinEncoded } from "@istiod/protobuf-wire";
import {
  dnsNamespaceServing,
  egressListeners,
  grpcEndsCallsEarly,
  grpcNeedsAllResources,
  grpcSupports,
  isSubsetOfHost,
  isWildcard,
  scopeOf,
} from "@istiod/push-context";
import { type Failure, type Resource, resource } from "@istiod/resources";
import { type ClusterName, outboundClusterName, parseClusterName } from "../resource-names.js";
import { bracketed, hostPort } from "../routes/domains.js";
import { withFailures } from "../routes/route-configuration.js";
import type { EgressPort } from "../routes/sidecar/port-services.js";
import { sidecarKey, type SidecarPort, virtualHostByDomain } from "../routes/sidecar/sidecar-virtual-hosts.js";
import { attemptHost } from "../routes/sidecar/virtual-host-chunks.js";
import { anyRequest } from "../routes/route/route-match.js";
import { virtualHost, virtualHostKey, type VirtualHostRequest } from "../routes/virtual-host.js";
import { acceptedVirtualHosts } from "./accepted-virtual-hosts.js";

/**
 * The route configuration of a port of a host, by the name that the host's listener references,
 * `outbound|80||cart.shop.svc.cluster.local`: its own virtual host and those of wildcards that cover it. In place of a
 * subset, the name may have a host as a target spells it, see {@link routeConfigurationName}. Undefined for a name of
 * another form. Source: pilot/pkg/networking/grpcgen/rds.go.
 */
export const grpcRouteConfiguration = query("grpcRouteConfiguration", (q, name: string): Resource | undefined => {
  const parsed = parseClusterName(name);
  if (parsed === undefined || parsed.hostname === "" || parsed.port === 0) return undefined;
  const failures: Failure[] = [];
  const requests = virtualHostsOf(q, { ...parsed, hostname: parsed.hostname.toLowerCase() });
  const hosts = requests.flatMap(
    (request) => attemptHost(q, request, failures, () => q.call(grpcVirtualHost, request)) ?? [],
  );
  const head = toBinary(RouteConfigurationSchema, create(RouteConfigurationSchema, { name }));
  const others = q.ask(grpcNeedsAllResources, undefined)
    ? [anyHost(outboundClusterName(parsed.hostname, parsed.port))]
    : [];
  return withFailures(resource(name, joinEncoded([head, ...hosts, ...others])), failures);
});

/**
 * Returns the name of the routes of a port of a service. Libraries tell capitals in domains apart, so that a target
 * with capitals has routes of its own, named with its host.
 */
export function routeConfigurationName(hostname: string, port: number, target: string): string {
  return outboundClusterName(hostname, port, target === target.toLowerCase() ? "" : target);
}

/** Returns the virtual host of a target that no other one has, encoded: one without endpoints, or one of plain TCP. */
function anyHost(cluster: string): Uint8Array {
  const action = { case: "route", value: { clusterSpecifier: { case: "cluster", value: cluster } } } as const;
  const host = { name: "any", domains: ["*"], routes: [{ match: anyRequest(), action }] };
  return toBinary(RouteConfigurationSchema, create(RouteConfigurationSchema, { virtualHosts: [host] }));
}

/** A virtual host for the targets of a client. */
interface GrpcVirtualHostRequest extends VirtualHostRequest {
  /** See {@link AcceptedRouteContext}. Default: none. */
  readonly authorities?: readonly string[];
  /** The host of the target, if it has capitals. */
  readonly spelled?: string;
}

/** A virtual host as gRPC accepts it, encoded as the virtual hosts of a route configuration. */
const grpcVirtualHost = query(
  "grpcVirtualHost",
  (q, { authorities = [], spelled, ...request }: GrpcVirtualHostRequest): Uint8Array => {
    const { virtualHosts } = fromBinary(RouteConfigurationSchema, q.call(virtualHost, request));
    const accepted = virtualHosts.flatMap((host) =>
      acceptedVirtualHosts(host, {
        cluster: request.service === undefined ? undefined : outboundClusterName(request.hostname, request.port),
        authorities,
        supports: (feature) => q.ask(grpcSupports, feature),
        get endsCallsEarly() {
          return q.ask(grpcEndsCallsEarly, undefined);
        },
      }),
    );
    if (spelled !== undefined) for (const host of accepted) host.domains = spellDomains(host.domains, spelled);
    return toBinary(RouteConfigurationSchema, create(RouteConfigurationSchema, { virtualHosts: accepted }));
  },
  { key: virtualHostKey },
);

/** Replaces a host in domains by its spelling with capitals. */
function spellDomains(domains: readonly string[], spelled: string): string[] {
  const host = bracketed(spelled.toLowerCase());
  return domains.map((domain) =>
    domain === host || domain.startsWith(`${host}:`) ? bracketed(spelled) + domain.slice(host.length) : domain,
  );
}

/** Returns the virtual hosts with a domain that is a host, with or without a port, or a wildcard that covers it. */
function virtualHostsOf(
  q: QueryContext,
  { hostname, port, subset: spelled }: Pick<ClusterName, "hostname" | "port" | "subset">,
): readonly GrpcVirtualHostRequest[] {
  const listener = egressPort(q, port);
  if (listener === undefined) return [];
  const at = { ...listener, localNamespace: q.ask(dnsNamespaceServing, port) };
  const byDomain = q.call(virtualHostByDomain, at);
  const wildcards = q
    .call(wildcardDomains, at)
    .filter((domain) =>
      isSubsetOfHost(hostname, domain.endsWith(`:${port}`) ? domain.slice(0, -`:${port}`.length) : domain),
    );
  const own = [bracketed(hostname), hostPort(hostname, port)];
  const found = new Set([...own, ...wildcards].flatMap((domain) => byDomain[domain] ?? []));
  const covering = coveringHosts(byDomain, wildcards, own, port);
  return [...found]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((request): GrpcVirtualHostRequest => {
      const authorities = covering.get(request);
      return authorities === undefined && !hasCapitals(spelled)
        ? request
        : { ...request, ...(authorities && { authorities }), ...(hasCapitals(spelled) && { spelled }) };
    });
}

/** Subsets have names with capitals too, but no client requests routes by one. */
function hasCapitals(target: string): boolean {
  return target !== target.toLowerCase();
}

/** Maps virtual hosts to those authorities of a host that no virtual host has, and whose best wildcard is theirs. */
function coveringHosts(
  byDomain: Readonly<Record<string, VirtualHostRequest>>,
  wildcards: readonly string[],
  authorities: readonly string[],
  port: number,
): ReadonlyMap<VirtualHostRequest, readonly string[]> {
  const covering = new Map<VirtualHostRequest, readonly string[]>();
  for (const authority of authorities) {
    if (byDomain[authority] !== undefined) continue;
    const hasPort = authority.endsWith(`:${port}`);
    const [best] = wildcards
      .filter((domain) => domain === "*" || domain.endsWith(`:${port}`) === hasPort)
      .sort((a, b) => b.length - a.length);
    const request = best === undefined ? undefined : byDomain[best];
    if (request !== undefined) covering.set(request, [...(covering.get(request) ?? []), authority]);
  }
  return covering;
}

/** The domains of a port that are wildcards. */
const wildcardDomains = query(
  "grpcWildcardDomains",
  (q, at: SidecarPort): readonly string[] => Object.keys(q.call(virtualHostByDomain, at)).filter(isWildcard),
  { key: sidecarKey },
);

/** Returns the egress listener of a port: the first one with the port or without one. */
function egressPort(q: QueryContext, port: number): EgressPort | undefined {
  const scope = scopeOf(q);
  const listener = q
    .call(egressListeners, scope)
    .findIndex((candidate) => candidate.port === undefined || candidate.port.number === port);
  return listener < 0 ? undefined : { scope, listener, port };
}
