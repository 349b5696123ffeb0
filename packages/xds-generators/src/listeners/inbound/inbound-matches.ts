import type { QueryContext } from "@istiod/incremental";
import type { ServerTLSSettings } from "@istiod/istio-api/networking/v1alpha3/gateway";
import {
  clientPeerModes,
  ingressListeners,
  modeOfPort,
  type MutualTlsMode,
  scopeOf,
  serviceTargets,
} from "@istiod/push-context";
import { afterTlsTermination, isHttp, isUndeclared, type Protocol } from "@istiod/service-discovery";
import type { TlsPayload } from "../../security/tls/downstream-tls.js";
import { plaintextHttpProtocols } from "../listener-filters.js";
import type { InboundPort } from "./inbound-ports.js";

/** The match of an inbound chain, and how the chain handles matching connections. */
export interface InboundMatch {
  readonly applicationProtocols: readonly string[];
  /** Empty: either. */
  readonly transportProtocol: "tls" | "raw_buffer" | "";
  /** Original destination addresses; absent: any. */
  readonly destinations?: readonly string[];
  /** The payload that the chain processes: HTTP requests or opaque bytes. */
  readonly payload: TlsPayload;
  readonly terminatesTls: boolean;
}

/**
 * ALPN protocols by which mesh peers announce the payload: their ALPN filter sets them for HTTP, their cluster for TCP.
 */
const meshHttpAlpn = ["istio-http/1.0", "istio-http/1.1", "istio-h2"];
const meshTcpAlpn = ["istio-peer-exchange", "istio"];
const meshAlpn = ["istio", "istio-peer-exchange", ...meshHttpAlpn];

/**
 * Returns the matches for a mutual TLS mode. Where the mode permits, TLS that is not the mesh's is passed through.
 * Source: pilot/pkg/networking/core/filterchain_options.go.
 */
function inboundMatches(q: QueryContext, mode: MutualTlsMode, protocol: Protocol): readonly InboundMatch[] {
  const detects = isUndeclared(protocol) || protocol === "HBONE";
  const http = isHttp(protocol);
  const payload = http ? "http" : "tcp";
  const plain = plaintextHttpProtocols(q);
  switch (mode) {
    case "STRICT":
      return detects ? [mutualTls("http", meshHttpAlpn), mutualTls("tcp")] : [mutualTls(payload)];
    case "PERMISSIVE":
      if (detects)
        return [
          mutualTls("http", meshHttpAlpn),
          plaintext("http", plain),
          mutualTls("tcp", meshTcpAlpn),
          plaintext("tcp"),
          tlsPassthrough,
        ];
      return http
        ? [mutualTls("http", meshAlpn), plaintext("http")]
        : [mutualTls("tcp", meshAlpn), tlsPassthrough, plaintext("tcp")];
    default:
      return detects ? [plaintext("http", plain), plaintext("tcp")] : [plaintext(payload)];
  }
}

/** The matches of a declared port. */
export interface PortMatches {
  /** The protocol after TLS is terminated by a user's own settings. */
  readonly protocol: Protocol;
  readonly matches: readonly InboundMatch[];
  /** Absent: mutual TLS of the mesh, by its mode. */
  readonly userTls: ServerTLSSettings | undefined;
}

/** Returns the matches of one of the client's ports. */
export function portMatches(q: QueryContext, { targetPort, servicePort, tls }: InboundPort): PortMatches {
  const mode = modeOfPort(q.call(clientPeerModes), targetPort);
  const userTls = mode === "DISABLE" ? tls : undefined;
  const declared = servicePort.protocol;
  if (userTls === undefined)
    return { protocol: declared, matches: inboundMatches(q, mode, declared), userTls: undefined };
  const protocol = afterTlsTermination(declared);
  return { protocol, matches: [userTlsMatch(protocol)], userTls };
}

/**
 * Returns the matches of ports that neither a service nor a Sidecar declares: of all together, as port 0, and of each
 * that has a PeerAuthentication mode of its own, ascending.
 */
export function undeclaredMatches(
  q: QueryContext,
): readonly { readonly targetPort: number; readonly matches: readonly InboundMatch[] }[] {
  const modes = q.call(clientPeerModes);
  const ports = Object.keys(modes.ports)
    .map(Number)
    .filter((port) => !isDeclared(q, port));
  return [0, ...ports.sort((a, b) => a - b)].map((targetPort) => ({
    targetPort,
    matches: inboundMatches(q, modeOfPort(modes, targetPort), "UnsupportedProtocol"),
  }));
}

/** Reports whether a port is declared. A Sidecar with ingress listeners declares all ports. */
function isDeclared(q: QueryContext, port: number): boolean {
  const ingress = q.call(ingressListeners, scopeOf(q));
  if (ingress.length > 0) return ingress.some((listener) => listener.port?.number === port);
  return q.ask(serviceTargets).some(({ targetPort }) => targetPort === port);
}

/** Returns the match for TLS that is terminated by a user's own settings. */
function userTlsMatch(protocol: Protocol): InboundMatch {
  return mutualTls(isHttp(protocol) ? "http" : "tcp");
}

/**
 * Returns the matches for connections from HBONE tunnels to the client's own addresses. The tunnel has already
 * terminated mutual TLS.
 * Source: pilot/pkg/networking/core/listener_inbound.go, sanitizeFilterChainForHBONE.
 */
export function hboneMatches(
  q: QueryContext,
  protocol: Protocol,
  destinations: readonly string[],
): readonly InboundMatch[] {
  return inboundMatches(q, "DISABLE", protocol).map((match) => ({ ...match, transportProtocol: "", destinations }));
}

function mutualTls(payload: TlsPayload, applicationProtocols: readonly string[] = []): InboundMatch {
  return { applicationProtocols, transportProtocol: "tls", payload, terminatesTls: true };
}

function plaintext(payload: TlsPayload, applicationProtocols: readonly string[] = []): InboundMatch {
  return { applicationProtocols, transportProtocol: "raw_buffer", payload, terminatesTls: false };
}

const tlsPassthrough: InboundMatch = {
  applicationProtocols: [],
  transportProtocol: "tls",
  payload: "tcp",
  terminatesTls: false,
};
