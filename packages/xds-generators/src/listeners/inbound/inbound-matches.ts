import type { QueryContext } from "@istiod/incremental";
import type { MutualTlsMode } from "@istiod/push-context";
import { isHttp, isUndeclared, type Protocol } from "@istiod/service-discovery";
import type { InsideTls } from "../../security/tls/downstream-tls.js";
import { plaintextHttp } from "../sniffed-protocols.js";

/** Which connections to a port a chain takes, and what it does with them. */
export interface InboundMatch {
  readonly applicationProtocols: readonly string[];
  /** Empty: either. */
  readonly transportProtocol: "tls" | "raw_buffer" | "";
  /** Addresses that connections must be meant for; absent: any. */
  readonly destinations?: readonly string[];
  /** What the chain sees: requests, or bytes. */
  readonly inside: InsideTls;
  readonly endsTls: boolean;
}

/** ALPNs by which peers in the mesh say what is inside: set by their ALPN filter for HTTP, by their cluster for bytes. */
const peerHttp = ["istio-http/1.0", "istio-http/1.1", "istio-h2"];
const peerTcp = ["istio-peer-exchange", "istio"];
const peerAny = ["istio", "istio-peer-exchange", ...peerHttp];

/**
 * The matches for a port's mutual TLS. TLS that is none of the mesh's passes as bytes where the mode lets it.
 * Source: pilot/pkg/networking/core/filterchain_options.go.
 */
export function inboundMatches(q: QueryContext, mode: MutualTlsMode, protocol: Protocol): readonly InboundMatch[] {
  const detects = isUndeclared(protocol) || protocol === "HBONE";
  const http = isHttp(protocol);
  const inside = http ? "http" : "tcp";
  const plain = plaintextHttp(q);
  switch (mode) {
    case "STRICT":
      return detects ? [mutual("http", peerHttp), mutual("tcp")] : [mutual(inside)];
    case "PERMISSIVE":
      if (detects)
        return [mutual("http", peerHttp), clear("http", plain), mutual("tcp", peerTcp), clear("tcp"), otherTls];
      return http ? [mutual("http", peerAny), clear("http")] : [mutual("tcp", peerAny), otherTls, clear("tcp")];
    default:
      return detects ? [clear("http", plain), clear("tcp")] : [clear(inside)];
  }
}

/** The match for TLS that a user's own settings end. */
export function terminatedMatch(protocol: Protocol): InboundMatch {
  return mutual(isHttp(protocol) ? "http" : "tcp");
}

/**
 * The matches for connections to a port that an HBONE tunnel carried to one of the client's own addresses. The tunnel ended mutual TLS.
 * Source: pilot/pkg/networking/core/listener_inbound.go, sanitizeFilterChainForHBONE.
 */
export function tunnelledMatches(
  q: QueryContext,
  protocol: Protocol,
  destinations: readonly string[],
): readonly InboundMatch[] {
  return inboundMatches(q, "DISABLE", protocol).map((match) => ({ ...match, transportProtocol: "", destinations }));
}

function mutual(inside: InsideTls, applicationProtocols: readonly string[] = []): InboundMatch {
  return { applicationProtocols, transportProtocol: "tls", inside, endsTls: true };
}

function clear(inside: InsideTls, applicationProtocols: readonly string[] = []): InboundMatch {
  return { applicationProtocols, transportProtocol: "raw_buffer", inside, endsTls: false };
}

const otherTls: InboundMatch = { applicationProtocols: [], transportProtocol: "tls", inside: "tcp", endsTls: false };
