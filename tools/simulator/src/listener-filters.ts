import type { Listener } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import type { ListenerFilterChainMatchPredicate } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import type { WholeCall } from "./call.js";
import type { Connection } from "./filter-chain.js";

const tlsInspector = "envoy.filters.listener.tls_inspector";
const httpInspector = "envoy.filters.listener.http_inspector";

/**
 * Properties of a connection by which a listener selects its filter chain. Those of TLS and HTTP are set only if a
 * listener filter detects them.
 */
export function connectionSeen(listener: Listener, { address, port, protocol, tls, alpn, sni }: WholeCall): Connection {
  const to = { address, port };
  if (runs(listener, tlsInspector, port) && tls !== "plaintext") {
    return {
      ...to,
      transportProtocol: "tls",
      serverName: sni.toLowerCase(),
      applicationProtocols: alpn === "" ? [] : [alpn],
    };
  }
  const sniffed = runs(listener, httpInspector, port) && tls === "plaintext" && protocol !== "tcp";
  return {
    ...to,
    transportProtocol: "raw_buffer",
    serverName: "",
    applicationProtocols: sniffed ? [protocol === "http" ? "http/1.1" : "h2c"] : [],
  };
}

function runs({ listenerFilters }: Listener, name: string, port: number): boolean {
  const filter = listenerFilters.find((candidate) => candidate.name === name);
  return filter !== undefined && !(filter.filterDisabled && holds(filter.filterDisabled, port));
}

function holds({ rule }: ListenerFilterChainMatchPredicate, port: number): boolean {
  switch (rule.case) {
    case "orMatch":
      return rule.value.rules.some((part) => holds(part, port));
    case "andMatch":
      return rule.value.rules.every((part) => holds(part, port));
    case "notMatch":
      return !holds(rule.value, port);
    case "anyMatch":
      return rule.value;
    case "destinationPortRange":
      return port >= rule.value.start && port < rule.value.end;
    default:
      return false;
  }
}
