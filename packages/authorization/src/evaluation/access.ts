import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** The attributes of an HTTP request, after the proxy has normalized its path. */
export interface HttpAttributes {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  /** The `:authority` or `Host` header. */
  readonly authority: string;
  /** Other headers in order; names in any case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** A connection and, on HTTP ports, a request, as the proxy of the destination sees them. */
export interface Access {
  /** SPIFFE ID in the caller's certificate; undefined without mutual TLS. */
  readonly principal: string | undefined;
  /** The connection's source of the principal. Behind an HBONE tunnel the address of the caller is unknown. */
  readonly tunnel: boolean;
  /** Address of the direct peer. */
  readonly sourceIp: string;
  /** Address of the original client, from X-Forwarded-For or the PROXY protocol. */
  readonly remoteIp: string;
  readonly destinationIp: string;
  readonly destinationPort: number;
  /** Server name of the TLS handshake; empty without TLS. */
  readonly sni: string;
  /** Undefined on a TCP chain, which knows no request. */
  readonly http: HttpAttributes | undefined;
  /** Payload of the valid token; undefined without one. */
  readonly claims: JsonObject | undefined;
  /** Dynamic metadata of other filters, by filter and key. */
  readonly filterMetadata: Readonly<Record<string, Readonly<Record<string, JsonValue>>>>;
}

/** The rules by which a policy's values are read. */
export interface RuleContext {
  /** Default namespace of service accounts. */
  readonly policyNamespace: string;
  /** The mesh's trust domain, then its aliases. */
  readonly trustDomains: readonly string[];
}
