/** Settings of the worker that sends requests. */
export interface TrafficSettings {
  readonly requestsPerSecond: number;
  readonly host: string;
  readonly port: number;
  /** SPIFFE identity by which the servers must know the client. */
  readonly peer: string;
}

export type TrafficOrder =
  | { readonly kind: "clients"; readonly id: number; readonly addresses: readonly string[] }
  | { readonly kind: "open" | "close"; readonly id: number; readonly address: string; readonly port: number }
  | { readonly kind: "take"; readonly id: number };

/** Figures since the last ones were taken. */
export interface TrafficFigures {
  /** Requests that were answered with status 200 by a server that knows the client. */
  readonly succeeded: number;
  readonly failed: number;
  /** The first failures. */
  readonly failures: readonly string[];
  /** Requests that were not sent, because too many were waiting for an answer. */
  readonly held: number;
  /** Milliseconds, of requests that were answered or failed. */
  readonly p99: number;
  /** Milliseconds, also of requests that still wait for an answer. */
  readonly longest: number;
}

export interface TrafficAnswer {
  readonly id: number;
  readonly figures?: TrafficFigures;
}
