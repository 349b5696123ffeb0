import type { PeerKey } from "./peer-key.js";

/** The limits that reject or end connections, streams and requests: the values of a metric's label. */
export type LimitReason =
  /** The server has the maximum number of connections, or of unauthenticated ones. */
  | "connections"
  /** One address or identity has the maximum number of connections. */
  | "connections_per_peer"
  /** The TLS handshake, or the HTTP/2 preface and SETTINGS, took too long. */
  | "handshake_timeout"
  /** A connection had no stream for too long. */
  | "idle_timeout"
  /** A stream sent no request. */
  | "first_request_timeout"
  /** A request was begun and not finished in time. */
  | "request_timeout"
  /** Unfinished requests exceeded the memory for them. */
  | "request_memory"
  /** A request exceeded the maximum size. */
  | "request_size"
  /** Streams were opened faster than they are admitted. */
  | "stream_rate"
  /** The process was running out of memory. */
  | "memory_pressure"
  /** The client violated HTTP/2, or its limits on control frames. */
  | "http2_error";

/** Reports that a limit rejected or ended something of a peer. */
export type LimitObserver = (reason: LimitReason, peer: PeerKey) => void;
