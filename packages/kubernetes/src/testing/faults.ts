/**
 * Ways to drop a connection.
 *
 * - `end`: responses end cleanly, as when a watch reaches its timeout. Requests without an answer yet are aborted.
 * - `abort`: the connection is closed with FIN in the middle of its responses
 * - `reset`: the connection is closed with RST
 */
export type DropMode = "end" | "abort" | "reset";

/** Requests that a fault applies to. Every given condition must match. */
export interface RequestFilter {
  /** Beginning of the path without query, for example `/api/v1/namespaces/shop/pods`. Default: all paths. */
  readonly pathPrefix?: string;
  /** For example `GET`. Default: all methods. */
  readonly method?: string;
  /** `true`: only watches, `false`: everything but watches. Default: both. */
  readonly watch?: boolean;
}

export interface FailOptions extends RequestFilter {
  /** HTTP status of the answer, for example 429, 500 or 503. The body is a Status of the matching reason. */
  readonly status: number;
  /** Number of requests that fail. Default 1. */
  readonly times?: number;
  /** Seconds in the header `Retry-After` and the Status' details. Default: 1 for 429, otherwise no header. */
  readonly retryAfterSeconds?: number;
}

export interface DelayOptions extends RequestFilter {
  /** Time in milliseconds before the request is processed. */
  readonly delayMs: number;
  /** Number of requests that are delayed. Default: all until `clear`. */
  readonly times?: number;
}

/**
 * Faults of an API server that tests inject. The in-memory server and the real one of `@istiod/cluster` implement it.
 *
 * A method returns when its effect is in place: a request that is sent afterwards sees it. Faults do not apply to the
 * server's own connections, and not to calls of `ClusterFaults`.
 */
export interface ClusterFaults {
  /**
   * Forgets all history. Afterwards, watches and exact lists from older resource versions, and continue tokens of
   * earlier lists, are answered with 410. Open watches continue, except where the storage needs to end them: see
   * `expireWatches`.
   */
  compact(): Promise<void>;
  /** Compacts, and sends every open watch an ERROR event with a Status of code 410, reason `Expired`, then ends it. */
  expireWatches(): Promise<void>;
  /** Drops the connections that have a request of the filter in progress. Returns the number of those requests. */
  dropConnections(mode: DropMode, filter?: RequestFilter): Promise<number>;
  /** Fails the next requests of the filter. The oldest of several matching faults applies. */
  failRequests(options: FailOptions): Promise<void>;
  /** Delays requests of the filter. */
  delayRequests(options: DelayOptions): Promise<void>;
  /**
   * Stops answering, as a machine that hangs: connections are accepted and remain open, requests wait, and open watches
   * send nothing. Lasts until `thaw` or `clear`.
   */
  freeze(): Promise<void>;
  /** Continues after `freeze`: waiting requests are answered, and watches send the events that they missed. */
  thaw(): Promise<void>;
  /** Removes every fault of `failRequests`, `delayRequests` and `freeze` that is left. */
  clear(): Promise<void>;
}
