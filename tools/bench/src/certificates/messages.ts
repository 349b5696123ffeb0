import type { Address } from "@istiod/xds-server/testing";

/** An agent: its encoded node and its bearer token. */
export interface AgentOptions {
  readonly node: Uint8Array;
  readonly token: string;
}

/** Requests for certificates, a number of them at once. */
export interface IssuanceOrder {
  readonly kind: "issuance";
  readonly target: Address;
  readonly count: number;
  readonly parallel: number;
  /** Opens a connection for each certificate. Otherwise each of `connections` has the same share of the requests. */
  readonly connections: "each" | number;
  /** Requests in PEM, used in turns. */
  readonly requests: readonly string[];
  /** Used in turns. */
  readonly tokens: readonly string[];
}

/** Agents that arrive at once. */
export interface ArrivalOrder {
  readonly kind: "arrival";
  readonly target: Address;
  readonly agents: readonly AgentOptions[];
  /** Requests in PEM, used in turns. Empty: the agents have certificates already. */
  readonly requests: readonly string[];
  /** Connections that may be open at the same time. */
  readonly maxConnections: number;
}

export type CallerOrder = IssuanceOrder | ArrivalOrder;

/** Times in milliseconds. */
export interface CallerReport {
  /** From the start of the connection, or of the request on a connection that is open, to the certificate. */
  readonly certificates: readonly number[];
  /** From the arrival of all to the last response that a proxy needs: of CDS, EDS, LDS and RDS. */
  readonly configured: readonly number[];
  /** From the first request to the last response. */
  readonly elapsed: number;
  /** Number of failures by reason. */
  readonly failures: Readonly<Record<string, number>>;
}
