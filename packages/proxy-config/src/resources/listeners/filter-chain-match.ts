import type { FilterChainMatch } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";

/** Names for the lists of application protocols that Istio generates. */
const protocolLists = new Map([
  ["http/1.0,http/1.1,h2c,istio-http/1.0,istio-http/1.1,istio-h2", "App: HTTP TLS"],
  ["istio,istio-http/1.0,istio-http/1.1,istio-h2", "App: Istio HTTP Plain"],
  ["istio-peer-exchange,istio", "App: TCP TLS"],
  ["http/1.0,http/1.1,h2c", "App: HTTP"],
]);

/**
 * Formats a filter chain match like istioctl, which omits source addresses, source types and suffixes.
 */
export function describeFilterChainMatch(match: FilterChainMatch | undefined): string {
  if (match === undefined) return "ALL";
  const { serverNames, transportProtocol, applicationProtocols, destinationPort, prefixRanges } = match;
  const protocols = applicationProtocols.join(",");
  const port = destinationPort === undefined ? "" : `:${destinationPort}`;
  const ranges = prefixRanges.map(({ addressPrefix, prefixLen }) => `${addressPrefix}/${prefixLen ?? 0}`).join(",");
  const parts = [
    serverNames.length > 0 ? `SNI: ${serverNames.join(",")}` : "",
    transportProtocol === "" ? "" : `Trans: ${transportProtocol}`,
    protocols === "" ? "" : (protocolLists.get(protocols) ?? `App: ${protocols}`),
    ranges === "" ? port && `Addr: *${port}` : `Addr: ${ranges}${port}`,
  ];
  return parts.filter((part) => part !== "").join("; ") || "ALL";
}
