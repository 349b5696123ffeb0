import { query, type QueryContext } from "@istiod/incremental";
import {
  type BoundServer,
  isHttpsServerWithTlsTermination,
  isPassThroughServer,
  mergedGateway,
  proxyType,
  virtualServicesForGateway,
} from "@istiod/push-context";
import { ServerTLSSettings_TLSmode as Mode } from "@istiod/istio-api/networking/v1alpha3/gateway";
import { isHttp, parseProtocol } from "@istiod/service-discovery";
import { terminatesTunnels } from "../hbone.js";
import { hboneMatches, type InboundMatch, portMatches, undeclaredMatches } from "./inbound/inbound-matches.js";
import { inboundPorts } from "./inbound/inbound-ports.js";
import { tcpAndTlsRoutes } from "./tcp/tcp-and-tls-routes.js";

/** Numbers of filter chains, each of which repeats the client's policies. */
export interface ProtectedChains {
  readonly http: number;
  readonly tcp: number;
}

/** The filter chains that enforce the client's policies. Chains of a gateway that conflict are counted too. */
export const protectedChains = query("protectedChains", (q): ProtectedChains => {
  return q.ask(proxyType) === "router" ? gatewayChains(q) : inboundChains(q);
});

function inboundChains(q: QueryContext): ProtectedChains {
  const ports = q.call(inboundPorts);
  const direct = [
    ...undeclaredMatches(q).flatMap(({ matches }) => matches),
    ...ports.flatMap((port) => portMatches(q, port).matches),
  ];
  const tunneled = terminatesTunnels(q)
    ? [
        ...hboneMatches(q, "UnsupportedProtocol", []),
        ...ports.flatMap(({ servicePort }) => hboneMatches(q, servicePort.protocol, [])),
      ]
    : [];
  return countByPayload([...direct, ...tunneled]);
}

function countByPayload(matches: readonly InboundMatch[]): ProtectedChains {
  const http = matches.filter(({ payload }) => payload === "http").length;
  return { http, tcp: matches.length - http };
}

function gatewayChains(q: QueryContext): ProtectedChains {
  let [http, tcp] = [0, 0];
  for (const { protocol, servers } of q.call(mergedGateway)?.groups ?? []) {
    if (isHttp(parseProtocol(protocol))) http++;
    else
      for (const server of servers) {
        if (isHttpsServerWithTlsTermination(server)) http += server.http3 ? 2 : 1;
        else tcp += tcpChainsOf(q, server);
      }
  }
  return { http, tcp };
}

/** Returns the number of TCP chains of a server, at most. Chains of AUTO_PASSTHROUGH enforce no policies. */
function tcpChainsOf(q: QueryContext, server: BoundServer): number {
  if (server.tls === undefined || !isPassThroughServer(server)) return 1;
  return server.tls.mode === Mode.AUTO_PASSTHROUGH ? 0 : q.call(tlsMatchesAt, server.gateway);
}

/** The number of matches of the TLS routes that are bound to a Gateway. */
const tlsMatchesAt = query("tlsMatchesAt", (q, gateway: string): number =>
  [...new Set(q.call(virtualServicesForGateway, gateway))]
    .flatMap((key) => q.call(tcpAndTlsRoutes, key)?.tls ?? [])
    .reduce((sum, { match }) => sum + match.length, 0),
);
