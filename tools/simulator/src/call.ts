/** A request and the connection that it comes on. */
export interface Call {
  /** Destination address of the connection. Default `1.3.3.7`. */
  readonly address?: string;
  readonly port: number;
  readonly protocol: "http" | "http2" | "tcp";
  /** `tls`: of any client; `mtls`: with an identity of the mesh. Default `plaintext`. */
  readonly tls?: "plaintext" | "tls" | "mtls";
  /** ALPN protocol of the client. Default: that of an Istio proxy for the protocol. Only with TLS. */
  readonly alpn?: string;
  readonly hostHeader?: string;
  /** Default with `tls`: the host. An identity of the mesh comes without. */
  readonly sni?: string;
  /** Default `/`. */
  readonly path?: string;
  readonly method?: string;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Envoy's random number of the request, an integer from 0: selects fractions of requests, and one of several weighted
   * clusters. Default: fractions as with 0, and no cluster of several.
   */
  readonly random?: number;
  /**
   * `inbound`: redirected to the proxy's inbound port. Default: it leaves the workload through the proxy, or comes to a
   * gateway.
   */
  readonly callMode?: "inbound" | "outbound" | "gateway";
}

export type CallError =
  | "no listener matched"
  | "no filter chains matched"
  | "multiple filter chains matched"
  | "no virtual host matched"
  | "no route matched"
  | "tls required, sending 301"
  | "protocol error"
  | "invalid TLS"
  | "invalid mTLS";

/** The result of a call: names of the objects that matched, and the reason if it failed. */
export interface Outcome {
  readonly error?: CallError;
  readonly listenerMatched?: string;
  readonly filterChainMatched?: string;
  /** Only where the routes are found by name. */
  readonly routeConfigMatched?: string;
  readonly virtualHostMatched?: string;
  readonly routeMatched?: string;
  /** Absent where a route names none, or several and the call has no random number. */
  readonly clusterMatched?: string;
}

/** A call with everything that it leaves unsaid. */
export type WholeCall = Required<Omit<Call, "sni" | "hostHeader" | "random">> & {
  readonly sni: string;
  readonly hostHeader: string;
  readonly random: number | undefined;
};

export function wholeCall(call: Call): WholeCall {
  const tls = call.tls ?? "plaintext";
  const hostHeader = call.hostHeader ?? "";
  return {
    ...call,
    address: call.address || "1.3.3.7",
    tls,
    hostHeader,
    alpn: call.alpn || offeredProtocol[tls][call.protocol],
    sni: call.sni || (tls === "tls" ? hostHeader : ""),
    path: call.path || "/",
    method: call.method ?? "GET",
    headers: call.headers ?? {},
    random: call.random,
    callMode: call.callMode ?? "outbound",
  };
}

const offeredProtocol = {
  plaintext: { http: "", http2: "", tcp: "" },
  tls: { http: "http/1.1", http2: "h2", tcp: "" },
  mtls: { http: "istio-http/1.1", http2: "istio-h2", tcp: "istio" },
} as const;
