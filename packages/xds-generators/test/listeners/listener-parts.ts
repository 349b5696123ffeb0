import type { Json, TestProxy } from "../mesh.js";

export const listenerType = "envoy.config.listener.v3.Listener";

/** Returns a listener of the proxy. */
export function listenerOf(proxy: TestProxy, name: string): Json {
  return proxy.json(listenerType, name);
}

export function listenerNames(proxy: TestProxy): string[] {
  return proxy.names(listenerType);
}

/** Returns all chains, the default chain last. */
export function chainsOf(listener: Json): Json[] {
  return [...(listener.filterChains ?? []), ...(listener.defaultFilterChain ? [listener.defaultFilterChain] : [])];
}

export function filterNames(chain: Json): string[] {
  return (chain.filters ?? []).map((filter: Json) => filter.name);
}

/** Returns the configuration of a chain's filter; throws if it has none. */
export function filterOf(chain: Json, name: string): Json {
  const found = (chain.filters ?? []).find((filter: Json) => filter.name === name);
  if (found === undefined) throw new Error(`no filter ${name} among ${filterNames(chain).join(", ")}`);
  return found.typedConfig;
}

export const manager = "envoy.filters.network.http_connection_manager";
export const tcpProxy = "envoy.filters.network.tcp_proxy";

/** The connection manager of a chain. */
export function managerOf(chain: Json): Json {
  return filterOf(chain, manager);
}

/** Returns the first HTTP chain of a listener. */
export function httpChain(listener: Json): Json {
  const found = chainsOf(listener).find((chain) => filterNames(chain).includes(manager));
  if (found === undefined) throw new Error("no chain with a connection manager");
  return found;
}

export function httpFilterNames(chain: Json): string[] {
  return managerOf(chain).httpFilters.map((filter: Json) => filter.name);
}

export function httpFilterOf(chain: Json, name: string): Json {
  return managerOf(chain).httpFilters.find((filter: Json) => filter.name === name)?.typedConfig;
}

/** Returns names, matches and transport of the chains for a destination port, one per line. */
export function chainLines(listener: Json, port?: number): string[] {
  return chainsOf(listener)
    .filter((chain) => port === undefined || chain.filterChainMatch?.destinationPort === port)
    .map((chain) => {
      const { transportProtocol = "any", applicationProtocols = [] } = chain.filterChainMatch ?? {};
      const kind = filterNames(chain).includes(manager) ? "http" : "tcp";
      return [transportProtocol, ...applicationProtocols, "->", chain.transportSocket ? "tls" : "", kind]
        .filter((part) => part !== "")
        .join(" ");
    });
}
