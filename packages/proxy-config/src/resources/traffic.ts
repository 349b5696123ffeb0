import type { JsonObject } from "@bufbuild/protobuf";
import type { RouteConfiguration } from "@istiod/envoy-api/envoy/config/route/v3/route";
import type { Route } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { type DumpedResource, objectIn, objectsIn } from "../dump/config-dump.js";
import { managedBy } from "./managed-by.js";
import { describeRouteMatch } from "./route-match.js";

/** A route of a proxy, with the clusters that get its requests. */
export interface RouteTraffic {
  /** Name of the route configuration, such as a port. */
  readonly name: string;
  readonly domains: readonly string[];
  readonly match: string;
  /** Clusters by their share of the requests, in percent. Empty for redirects and direct responses. */
  readonly shares: readonly { readonly cluster: string; readonly percent: number }[];
  /** `name.namespace` of the VirtualService; empty if there is none. */
  readonly virtualService: string;
}

/** Returns the routes that a VirtualService configures, and with `all` those of services without one. */
export function routeTraffic(
  found: readonly DumpedResource<RouteConfiguration>[],
  { all = false }: { readonly all?: boolean } = {},
): readonly RouteTraffic[] {
  return found.flatMap(({ message: { name, virtualHosts } }) =>
    virtualHosts.flatMap(({ domains, routes }) =>
      routes
        .map((route) => ({
          ...{ name, domains, match: describeRouteMatch(route.match) },
          shares: sharesOf(route),
          virtualService: managedBy(route.metadata),
        }))
        .filter(({ virtualService }) => all || virtualService !== ""),
    ),
  );
}

function sharesOf({ action }: Route): RouteTraffic["shares"] {
  if (action.case !== "route") return [];
  const { clusterSpecifier: specifier } = action.value;
  if (specifier.case === "cluster") return [{ cluster: specifier.value, percent: 100 }];
  if (specifier.case !== "weightedClusters") return [];
  const weights = specifier.value.clusters.map(({ name, weight }) => ({ name, weight: weight ?? 0 }));
  const total = weights.reduce((sum, { weight }) => sum + weight, 0);
  return weights.map(({ name, weight }) => ({ cluster: name, percent: total === 0 ? 0 : (100 * weight) / total }));
}

/** TLS of the connections to a cluster: by the sidecars of its endpoints, always, or never. */
export type ClusterTls = "mutual TLS to sidecars" | "mutual TLS" | "TLS" | "plaintext";

/** Returns the TLS of the connections that a proxy opens to a cluster. */
export function clusterTls({ json }: DumpedResource<unknown>): ClusterTls {
  const byEndpoint = objectsIn(json, "transportSocketMatches").some((match) => tlsOf(match) === "mutual TLS");
  return byEndpoint ? "mutual TLS to sidecars" : tlsOf(json);
}

function tlsOf(owner: JsonObject): Exclude<ClusterTls, "mutual TLS to sidecars"> {
  const config = nested(owner, "transportSocket", "typedConfig");
  const common = config && objectIn(config, "commonTlsContext");
  if (common === undefined) return "plaintext";
  const own = ["tlsCertificateSdsSecretConfigs", "tlsCertificates"].some((list) => objectsIn(common, list).length > 0);
  return own ? "mutual TLS" : "TLS";
}

/** Mutual TLS at a port of a workload, by the names of PeerAuthentications. */
export type PortMode = "STRICT" | "PERMISSIVE" | "DISABLE";

/** Returns the mutual TLS at the ports of a workload, in order; the port 0 is all others. */
export function inboundTls(found: readonly DumpedResource<unknown>[]): readonly { port: number; mode: PortMode }[] {
  const chains = found
    .filter(({ json }) => json["name"] === "virtualInbound")
    .flatMap(({ json }) => objectsIn(json, "filterChains"))
    .filter(({ name }) => name !== "virtualInbound-blackhole");
  const ports = new Map<number, Set<boolean>>();
  for (const chain of chains) {
    const { destinationPort } = objectIn(chain, "filterChainMatch") ?? {};
    const port = typeof destinationPort === "number" ? destinationPort : 0;
    const isMutual = nested(chain, "transportSocket", "typedConfig")?.["requireClientCertificate"] === true;
    ports.set(port, (ports.get(port) ?? new Set()).add(isMutual));
  }
  return [...ports]
    .sort(([a], [b]) => a - b)
    .map(([port, mutual]) => ({
      port,
      mode: mutual.size > 1 ? "PERMISSIVE" : mutual.has(true) ? "STRICT" : "DISABLE",
    }));
}

function nested(json: JsonObject, ...fields: readonly string[]): JsonObject | undefined {
  return fields.reduce<JsonObject | undefined>((inner, field) => inner && objectIn(inner, field), json);
}
