/** Settings of the thread that sends and answers requests. */
export interface TrafficSettings {
  /** Fewer, if answers come slowly. */
  readonly requestsPerSecond: number;
  /** Address of the client's proxy. */
  readonly client: { readonly host: string; readonly port: number };
  /** Address of the application behind the server's proxy. */
  readonly application: { readonly host: string; readonly port: number };
  /** Value of the Host header. */
  readonly host: string;
  /** One request in so many asks the proxies for a new connection between them. */
  readonly freshEvery: number;
}

/** The header by which requests ask for a new connection. */
export const freshHeader = "x-connection";
export const freshValue = "new";

export type TrafficOrder =
  /** Begins to answer, and to send requests. */
  | { readonly kind: "start" }
  /** Sets the SPIFFE identities of which the server must know the client by one. */
  | { readonly kind: "peers"; readonly peers: readonly string[] }
  /** Returns the figures since they were taken last. */
  | { readonly kind: "take" }
  /** Returns the number of requests that were answered since the start. */
  | { readonly kind: "count" }
  /** Sends no further requests, and waits for the answers to the others. */
  | { readonly kind: "finish" };

/** Figures since the last ones were taken. */
export interface TrafficFigures {
  /** Requests that were answered with status 200 by a server that knows the client. */
  readonly succeeded: number;
  /** Those of them that asked for a new connection. */
  readonly fresh: number;
  readonly failed: number;
  /** Requests that were not sent, because answers came slowly. */
  readonly skipped: number;
  /** The first failures. */
  readonly failures: readonly string[];
  /** Milliseconds. */
  readonly p99: number;
  readonly longest: number;
}

export interface TrafficAnswer {
  readonly id: number;
  readonly figures?: TrafficFigures;
  readonly count?: number;
}
