import type { QueryContext } from "@istiod/incremental";
import type { MutualTlsMode } from "@istiod/push-context";
import { isHttp, isUndeclared, type Protocol } from "@istiod/service-discovery";
import type { TlsPayload } from "../../security/tls/downstream-tls.js";
import { plaintextHttpProtocols } from "../listener-filters.js";

/** Which connections to a port a chain takes, and what it does with them. */
export interface InboundMatch {
  readonly applicationProtocols: readonly string[];
  /** Empty: either. */
  readonly transportProtocol: "tls" | "raw_buffer" | "";
  /** Addresses that connections must be meant for; absent: any. */
  readonly destinations?: readonly string[];
  /** What the chain sees: requests, or bytes. */
  readonly payload: TlsPayload;
  readonly terminatesTls: boolean;
}

/** ALPNs by which peers in the mesh say what is inside: set by their ALPN filter for HTTP, by their cluster for bytes. */
const meshHttpAlpn = ["istio-http/1.0", "istio-http/1.1", "istio-h2"];
const meshTcpAlpn = ["istio-peer-exchange", "istio"];
const meshAlpn = ["istio", "istio-peer-exchange", ...meshHttpAlpn];

/**
 * The matches for a port's mutual TLS. TLS that is none of the mesh's passes as bytes where the mode lets it.
 * Source: pilot/pkg/networking/core/filterchain_options.go.
 */
export function inboundMatches(q: QueryContext, mode: MutualTlsMode, protocol: Protocol): readonly InboundMatch[] {
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

/** The match for TLS that a user's own settings end. */
export function userTlsMatch(protocol: Protocol): InboundMatch {
  return mutualTls(isHttp(protocol) ? "http" : "tcp");
}

/**
 * The matches for connections to a port that an HBONE tunnel carried to one of the client's own addresses. The tunnel ended mutual TLS.
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
