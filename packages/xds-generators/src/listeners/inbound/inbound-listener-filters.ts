import type { ListenerFilter } from "../../envoy/filters.js";
import {
  disableAtPorts,
  enableOnlyAtPorts,
  httpInspector,
  originalDestination,
  originalSource,
  tlsInspector,
} from "../listener-filters.js";

/** The properties of connections to a destination port that must be detected before a chain is selected. */
export interface PortInspection {
  /** 0: all ports that no chain names. */
  readonly port: number;
  /** True if TLS, SNI and ALPN are detected. */
  readonly tls: boolean;
  /** True if plaintext HTTP is detected. */
  readonly http: boolean;
}

/**
 * Returns the listener filters. Inspectors are disabled at ports whose chains do not need them, since they would delay
 * server-first protocols. Source: pilot/pkg/networking/core/listener_inbound.go, populateListenerFilters.
 */
export function inboundListenerFilters(
  chains: readonly PortInspection[],
  preserved: { readonly originalDestination: boolean; readonly originalSource: boolean },
): readonly ListenerFilter[] {
  const needs = new Map<number, { tls: boolean; http: boolean }>();
  for (const { port, tls, http } of chains) {
    const need = needs.get(port) ?? { tls: false, http: false };
    needs.set(port, need);
    need.tls ||= tls;
    need.http ||= http;
  }
  const portsWhere = (holds: (need: { tls: boolean; http: boolean }) => boolean): readonly number[] =>
    [...needs]
      .filter(([, need]) => holds(need))
      .map(([port]) => port)
      .sort((a, b) => a - b);
  const declared = (ports: readonly number[]): readonly number[] => ports.filter((port) => port !== 0);
  const tls = portsWhere((need) => need.tls);
  const http = portsWhere((need) => need.http);
  return [
    ...(preserved.originalDestination ? [originalDestination] : []),
    ...(preserved.originalSource ? [originalSource] : []),
    ...(tls.length === 0
      ? []
      : [
          tls.includes(0)
            ? disableAtPorts(tlsInspector, declared(portsWhere((need) => !need.tls)))
            : enableOnlyAtPorts(tlsInspector, tls),
        ]),
    ...(http.length === 0
      ? []
      : [
          disableAtPorts(
            httpInspector,
            portsWhere((need) => !need.http),
          ),
        ]),
  ];
}
