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
import { outboundClusterName, parseClusterName } from "../resource-names.js";
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
 * `outbound|80||cart.shop.svc.cluster.local`: its own virtual host and those of wildcards that cover it. Undefined for
 * a name of another form. Source: pilot/pkg/networking/grpcgen/rds.go.
 */
export const grpcRouteConfiguration = query("grpcRouteConfiguration", (q, name: string): Resource | undefined => {
  const parsed = parseClusterName(name);
  if (parsed === undefined || parsed.hostname === "" || parsed.port === 0) return undefined;
  const failures: Failure[] = [];
  const hosts = virtualHostsOf(q, parsed.hostname.toLowerCase(), parsed.port).flatMap(
    (request) => attemptHost(q, request, failures, grpcVirtualHost) ?? [],
  );
  const head = toBinary(RouteConfigurationSchema, create(RouteConfigurationSchema, { name }));
  const others = q.ask(grpcNeedsAllResources, undefined)
    ? [anyHost(outboundClusterName(parsed.hostname, parsed.port))]
    : [];
  return withFailures(resource(name, joinEncoded([head, ...hosts, ...others])), failures);
});

/** Returns the virtual host of a target that no other one has, encoded: one without endpoints, or one of plain TCP. */
function anyHost(cluster: string): Uint8Array {
  const action = { case: "route", value: { clusterSpecifier: { case: "cluster", value: cluster } } } as const;
  const host = { name: "any", domains: ["*"], routes: [{ match: anyRequest(), action }] };
  return toBinary(RouteConfigurationSchema, create(RouteConfigurationSchema, { virtualHosts: [host] }));
}

/** A virtual host as gRPC accepts it, encoded as the virtual hosts of a route configuration. */
const grpcVirtualHost = query(
  "grpcVirtualHost",
  (q, request: VirtualHostRequest): Uint8Array => {
    const { virtualHosts } = fromBinary(RouteConfigurationSchema, q.call(virtualHost, request));
    const accepted = virtualHosts.flatMap((host) =>
      acceptedVirtualHosts(host, {
        cluster: request.service === undefined ? undefined : outboundClusterName(request.hostname, request.port),
        supports: (feature) => q.ask(grpcSupports, feature),
        get endsCallsEarly() {
          return q.ask(grpcEndsCallsEarly, undefined);
        },
      }),
    );
    return toBinary(RouteConfigurationSchema, create(RouteConfigurationSchema, { virtualHosts: accepted }));
  },
  { key: virtualHostKey },
);

/** Returns the virtual hosts with a domain that is a host, with or without a port, or a wildcard that covers it. */
function virtualHostsOf(q: QueryContext, hostname: string, port: number): readonly VirtualHostRequest[] {
  const listener = egressPort(q, port);
  if (listener === undefined) return [];
  const at = { ...listener, localNamespace: q.ask(dnsNamespaceServing, port) };
  const byDomain = q.call(virtualHostByDomain, at);
  const wildcards = q
    .call(wildcardDomains, at)
    .filter((domain) =>
      isSubsetOfHost(hostname, domain.endsWith(`:${port}`) ? domain.slice(0, -`:${port}`.length) : domain),
    );
  const found = new Set(
    [bracketed(hostname), hostPort(hostname, port), ...wildcards].flatMap((domain) => byDomain[domain] ?? []),
  );
  return [...found].sort((a, b) => (a.name < b.name ? -1 : 1));
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
