import type { FilterChain } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import type { Listener } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import type { RouteConfiguration } from "@istiod/envoy-api/envoy/config/route/v3/route";
import type { TcpProxy } from "@istiod/envoy-api/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy";
import {
  type RouteAction,
  VirtualHost_TlsRequirementType as TlsRequirement,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { type Call, type CallError, type Outcome, wholeCall, type WholeCall } from "./call.js";
import { chooseListener } from "./choose-listener.js";
import { chooseFilterChains } from "./filter-chain.js";
import { connectionSeen } from "./listener-filters.js";
import { connectionManagerOf, tcpProxyOf } from "./network-filter.js";
import { matchesRoute } from "./route-match.js";
import { acceptsClient } from "./server-tls.js";
import { chooseVirtualHost } from "./virtual-host.js";

/** The configuration of a proxy. */
export interface ProxyState {
  readonly listeners: readonly Listener[];
  /** Route configurations by name. */
  readonly routes: ReadonlyMap<string, RouteConfiguration>;
}

/** Simulates a call through a proxy, and returns its result. */
export function simulate(state: ProxyState, given: Call): Outcome {
  const call = wholeCall(given);
  const listener = chooseListener(state.listeners, call);
  if (listener === undefined) return { error: "no listener matched" };
  const seen = connectionSeen(listener, call);
  const at = { listenerMatched: listener.name };
  const chosen = chooseFilterChains(listener.filterChains, seen);
  if (chosen.length > 1) return { ...at, error: "multiple filter chains matched" };
  const chain = chosen[0] ?? listener.defaultFilterChain;
  if (chain === undefined) return { ...at, error: "no filter chains matched" };
  return { ...at, ...(chain.name !== "" && { filterChainMatched: chain.name }), ...inChain(state, chain, call) };
}

function inChain(state: ProxyState, chain: FilterChain, call: WholeCall): Outcome {
  const error = handshakeError(chain, call);
  if (error !== undefined) return { error };
  const manager = connectionManagerOf(chain);
  if (manager === undefined) return clusterOf(tcpProxyOf(chain)?.clusterSpecifier, call.random);
  const readable = call.protocol !== "tcp" && (call.tls === "plaintext" || chain.transportSocket !== undefined);
  if (!readable) return { error: "protocol error" };
  switch (manager.routeSpecifier.case) {
    case "routeConfig":
      return inRoutes(manager.routeSpecifier.value, call);
    case "rds": {
      const { routeConfigName } = manager.routeSpecifier.value;
      return { routeConfigMatched: routeConfigName, ...inRoutes(state.routes.get(routeConfigName), call) };
    }
    default:
      return { error: "no virtual host matched" };
  }
}

function handshakeError(chain: FilterChain, { tls }: WholeCall): CallError | undefined {
  if (chain.transportSocket === undefined) return undefined;
  if (tls === "plaintext") return "invalid TLS";
  return acceptsClient(chain.transportSocket, tls) ? undefined : "invalid mTLS";
}

function inRoutes(routes: RouteConfiguration | undefined, call: WholeCall): Outcome {
  const host = routes && chooseVirtualHost(routes, call.hostHeader);
  if (host === undefined) return { error: "no virtual host matched" };
  const at = { virtualHostMatched: host.name };
  if (host.requireTls === TlsRequirement.ALL && call.tls === "plaintext")
    return { ...at, error: "tls required, sending 301" };
  const request = {
    path: call.path,
    headers: {
      ":authority": call.hostHeader,
      ":path": call.path,
      ":method": call.method,
      ":scheme": call.tls === "plaintext" ? "http" : "https",
      ...call.headers,
    },
    random: call.random ?? 0,
  };
  const route = host.routes.find(({ match }) => match !== undefined && matchesRoute(match, request));
  if (route === undefined) return { ...at, error: "no route matched" };
  return {
    ...at,
    ...(route.name !== "" && { routeMatched: route.name }),
    ...(route.action.case === "route" && clusterOf(route.action.value.clusterSpecifier, call.random)),
  };
}

type ClusterSpecifier = RouteAction["clusterSpecifier"] | TcpProxy["clusterSpecifier"];

function clusterOf(specifier: ClusterSpecifier | undefined, random: number | undefined): Outcome {
  switch (specifier?.case) {
    case "cluster":
      return { clusterMatched: specifier.value };
    case "weightedClusters": {
      const name = random === undefined ? undefined : weightedCluster(specifier.value.clusters, random);
      return name === undefined ? {} : { clusterMatched: name };
    }
    default:
      return {};
  }
}

interface Weighted {
  readonly name: string;
  readonly weight?: number | { readonly value: number } | undefined;
}

/** Selects a cluster as Envoy does: by the random number modulo the sum of the weights. */
function weightedCluster(clusters: readonly Weighted[], random: number): string | undefined {
  const weights = clusters.map(({ weight = 0 }) => (typeof weight === "number" ? weight : weight.value));
  const selected = random % weights.reduce((sum, weight) => sum + weight, 0);
  let end = 0;
  return clusters.find((_, i) => selected < (end += weights[i] ?? 0))?.name;
}
