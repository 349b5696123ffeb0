import { query, type QueryContext } from "@istiod/incremental";
import type { TCPRoute, TLSRoute } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import {
  hostsOverlap,
  listenerKey,
  type ScopeListener,
  virtualService,
  listenerVirtualServices,
} from "@istiod/push-context";

/** The TCP and TLS routes of a VirtualService. */
export interface TcpAndTlsRoutes {
  readonly key: string;
  readonly hosts: readonly string[];
  readonly tcp: readonly TCPRoute[];
  readonly tls: readonly TLSRoute[];
  /** Reports whether a TLSRoute of the Gateway API declares them: they also apply where a gateway terminates TLS. */
  readonly ofTlsRoute: boolean;
  /** The hostname of the TLSRoute, which includes the host. */
  readonly declaredHost?: string;
}

/** The TCP and TLS routes of a VirtualService; undefined if it has none. Unaffected by edits of HTTP routes. */
export const tcpAndTlsRoutes = query("tcpAndTlsRoutes", (q, key: string): TcpAndTlsRoutes | undefined => {
  const found = q.call(virtualService, key);
  if (found === undefined || (found.spec.tcp.length === 0 && found.spec.tls.length === 0)) return undefined;
  const { hosts, tcp, tls } = found.spec;
  return {
    key,
    hosts,
    tcp,
    tls,
    ofTlsRoute: found.derivedFrom.some(({ kind }) => kind === "TLSRoute"),
    ...(found.declaredHost !== undefined && { declaredHost: found.declaredHost }),
  };
});

/** Returns the TCP and TLS routes for a host, in order of precedence. */
export function tcpAndTlsRoutesFor(q: QueryContext, at: ScopeListener, hostname: string): readonly TcpAndTlsRoutes[] {
  return q.call(tcpAndTlsVirtualServices, at).filter(({ hosts }) => hosts.some((host) => hostsOverlap(host, hostname)));
}

/** The VirtualServices of an egress listener with TCP or TLS routes, in order of precedence. */
const tcpAndTlsVirtualServices = query(
  "tcpAndTlsVirtualServices",
  (q, at: ScopeListener): readonly TcpAndTlsRoutes[] =>
    q.call(listenerVirtualServices, at).flatMap((key) => q.call(tcpAndTlsRoutes, key) ?? []),
  { key: listenerKey },
);
