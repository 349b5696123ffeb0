import type { FilterChain } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { httpInspector, offAtPorts, onlyAtPorts, originalDestination, originalSource, tlsInspector } from "./listener-filters.js";
import type { ListenerFilter } from "./named-filter.js";

/**
 * What looks at connections before a chain is chosen: no inspector at a port whose chains do not need it, since servers that speak
 * first would wait for it. Source: pilot/pkg/networking/core/listener_inbound.go, populateListenerFilters.
 */
export function inboundListenerFilters(
  chains: readonly FilterChain[],
  kept: { readonly originalDestination: boolean; readonly originalSource: boolean },
): readonly ListenerFilter[] {
  const needs = new Map<number, { tls: boolean; http: boolean }>();
  for (const { filterChainMatch } of chains) {
    const port = filterChainMatch?.destinationPort ?? 0;
    const need = needs.get(port) ?? { tls: false, http: false };
    needs.set(port, need);
    need.tls ||= filterChainMatch?.transportProtocol === "tls";
    need.http ||= filterChainMatch?.applicationProtocols.some((protocol) => protocol === "http/1.1" || protocol === "h2c") === true;
  }
  const portsWhere = (holds: (need: { tls: boolean; http: boolean }) => boolean): readonly number[] =>
    [...needs].filter(([, need]) => holds(need)).map(([port]) => port).sort((a, b) => a - b);
  const declared = (ports: readonly number[]): readonly number[] => ports.filter((port) => port !== 0);
  const tls = portsWhere((need) => need.tls);
  const http = portsWhere((need) => need.http);
  return [
    ...(kept.originalDestination ? [originalDestination] : []),
    ...(kept.originalSource ? [originalSource] : []),
    ...(tls.length === 0 ? [] : [tls.includes(0) ? offAtPorts(tlsInspector, declared(portsWhere((need) => !need.tls))) : onlyAtPorts(tlsInspector, tls)]),
    ...(http.length === 0 ? [] : [offAtPorts(httpInspector, portsWhere((need) => !need.http))]),
  ];
}
