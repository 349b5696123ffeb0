import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { Resource, ResourceSet } from "@istiod/resources";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { ConnectRouter } from "@connectrpc/connect";
import type { Attribution } from "./attribution.js";
import type { Clock } from "@istiod/runtime";
import type { Rejection, ResourceRejection, Variant, XdsEvent } from "./events.js";
import type { LimitsByAuthentication } from "./limits/stream-limits.js";
import type { ConnectionLimits } from "./limits/connection-table.js";
import type { MemoryMeter } from "./limits/memory-pressure.js";
import type { OnDemandHandler, Peer } from "./source.js";
import type { SubscribedNames } from "./subscribed-names.js";
import type { Call, CallHandler } from "./transport/call.js";

/** Limits and collaborators of a server. */
export interface XdsServerOptions {
  /** Receives every event of the server's streams. Must not throw. */
  readonly observe?: (event: XdsEvent) => void;
  /** Attributes responses to changes of the source. Default: none; events then have no revisions. */
  readonly attribution?: Attribution;
  /** Maximum number of pushes in progress (Istio: `PILOT_PUSH_THROTTLE`). Default 100. */
  readonly concurrentPushes?: number;
  /**
   * Maximum rate of new streams per second, shared fairly between peers. More streams than are admitted in a second do
   * not wait: those of the peers with the most are rejected with `ResourceExhausted`. Default: no limit.
   */
  readonly streamsPerSecond?: number;
  /** Limits of each stream. Those of streams without an authenticated identity have lower defaults. */
  readonly limits?: LimitsByAuthentication;
  /** Maximum numbers of connections. Default: 20,000, 10,000, 5,000 and 10,000. */
  readonly connectionLimits?: Partial<ConnectionLimits>;
  /** Number of files that the process may open. The limits of connections fit into it. Default: RLIMIT_NOFILE. */
  readonly maxOpenFiles?: number;
  /**
   * Bytes of all requests that have begun and are not complete. One peer may use half of them. Further requests wait by
   * flow control. Default 67,108,864.
   */
  readonly unfinishedRequestBytes?: number;
  /** Time in which a request must be complete once it has begun. Default 60,000 ms. */
  readonly requestTimeoutMs?: number;
  /**
   * Share of the heap's limit, or of the container's memory limit, above which new connections and streams are rejected
   * and the newest connections are closed. Garbage does not count. Default: never.
   */
  readonly memoryThreshold?: number;
  /** Measures the memory. Default: that of this process. */
  readonly memoryMeter?: MemoryMeter;
  /** Time after which a client that reads nothing is disconnected. Default 60,000 ms. */
  readonly sendTimeoutMs?: number;
  /** Outstanding bytes above which no further response is built for a client. Default 65,536. */
  readonly maxOutstandingBytes?: number;
  /** Bytes that a copying transport may hold before further pushes wait. Default 268,435,456. */
  readonly maxCopiedBytes?: number;
  /** Bytes of encoded responses kept for reuse. Default 67,108,864. */
  readonly bodyCacheBytes?: number;
  /** Time that they are kept after last use. Default 10,000 ms. */
  readonly bodyCacheMs?: number;
  /**
   * Time for which the server remembers the resources that a client may have or not when its stream ends, because it
   * rejected a response. They are sent or removed again when it reconnects. Default 600,000 ms.
   */
  readonly doubtMemoryMs?: number;
  /**
   * Sends the resources of a rejected response again until each is acknowledged or known to be invalid. Turned off, a
   * response is sent once, as tests of a client's verdicts need it. Default: true.
   */
  readonly isolatesRejections?: boolean;
  /** Default: the clock of the process. */
  readonly clock?: Clock;
  /** Returns a number from 0 to less than 1, for the jitter of retries. Default: `Math.random`. */
  readonly random?: () => number;
}

/**
 * The gRPC implementation. `http2` writes shared buffers to Node's HTTP/2 streams. `connect` uses connect-node
 * handlers, which copy each message and cost about thirty times the CPU for large messages.
 */
export type TransportName = "http2" | "connect";

export interface ListenOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Default: plaintext HTTP/2 with prior knowledge. */
  readonly tls?: TlsOptions;
  /** Default "http2". */
  readonly transport?: TransportName;
  /**
   * Compresses responses, except secrets, for clients that accept gzip. Default true. The transport "connect" always
   * compresses all responses for them.
   */
  readonly compression?: boolean;
  /** Additional services on the same port. */
  readonly routes?: (router: ConnectRouter) => void;
  /**
   * Handlers of further gRPC methods by path, called with the headers of a call before its body is read. They take
   * precedence over `routes`.
   */
  readonly calls?: ReadonlyMap<string, (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void>;
  /**
   * Interval of keepalive pings, and the timeout after which the connection is closed. Default 30,000 and 10,000 ms.
   */
  readonly keepAlive?: { readonly intervalMs: number; readonly timeoutMs: number };
  /**
   * Maximum connection age (with a jitter of ±10 %) and grace period, after which streams end with `Unavailable`.
   * Default: no limit.
   */
  readonly maxAge?: { readonly ms: number; readonly graceMs: number };
  /**
   * Maximum size of a request; larger requests fail with `ResourceExhausted`. Default 4,194,304 (Istio:
   * `ISTIO_GPRC_MAXRECVMSGSIZE`).
   */
  readonly maxRequestBytes?: number;
  /** Maximum number of concurrent streams per connection. Default 100,000 (Istio: `ISTIO_GPRC_MAXSTREAMS`). */
  readonly maxStreams?: number;
  /** The same until the client is authenticated by a stream. Default 100. */
  readonly maxUnauthenticatedStreams?: number;
  /** Time from the connection to the end of the TLS handshake and of HTTP/2's. Default 10,000 ms. */
  readonly handshakeTimeoutMs?: number;
  /**
   * Time from the handshake to the first stream, and from there to the first request. Default 15,000 ms.
   */
  readonly firstRequestTimeoutMs?: number;
  /** Time after the last stream in which a connection is kept. Default 300,000 ms. */
  readonly idleTimeoutMs?: number;
}

export interface TlsOptions {
  /** The server's certificate chain in PEM, leaf first. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
  /** A second chain and key of another type, such as RSA and ECDSA, for clients that do not accept the first. */
  readonly fallback?: { readonly cert: string; readonly key: string };
  /** CA certificates in PEM that client certificates are verified against. Client certificates are optional. */
  readonly clientCa?: string;
  /** Default "TLSv1.2". */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
  /** Default: the newest. */
  readonly maxVersion?: "TLSv1.2" | "TLSv1.3";
  /** OpenSSL cipher list. Without a suite of TLS 1.3 that version is not spoken. Default: Node's, AES-128-GCM first. */
  readonly ciphers?: string;
  /** Curves of the key exchange, separated by colons. Default: Node's. */
  readonly curves?: string;
}

export interface Listening {
  readonly host: string;
  readonly port: number;
  /** Replaces the certificates for new connections. */
  renew(tls: TlsOptions): void;
  /** Stops accepting connections. Open streams continue until the server is closed. */
  close(): void;
}

/** An xDS server with any number of listeners. */
export interface XdsServer {
  /** Adds a listener. */
  listen(options: ListenOptions): Promise<Listening>;
  /** Adds a handler of on-demand types, asked after those that were added before it. Add handlers before listeners. */
  handle(handler: OnDemandHandler): void;
  /** Accepts a call from a custom transport. */
  accept(call: Call): CallHandler;
  /** Returns the state of every admitted stream, oldest first. It copies all subscriptions. */
  connections(): readonly Connection[];
  /** Returns the names of the resources that clients reject now, by type URL, each once. */
  rejectedResources(): ReadonlyMap<string, ReadonlySet<string>>;
  /** Returns the nodes of the admitted streams, oldest first. */
  nodes(): readonly Node[];
  /** Ends a stream with `Unavailable`, so that the client reconnects. Returns false if there is no such stream. */
  disconnect(id: string, reason?: string): boolean;
  /** Pushes to all clients, as after a change of everything. */
  push(): void;
  /**
   * Rejects new streams, sends GOAWAY, and ends the open streams with `Unavailable`, spread over the grace period
   * (default 5,000 ms) so that clients do not reconnect to other replicas all at once. Streams with outstanding
   * responses are ended last. Then closes all listeners.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** A snapshot of an admitted stream. */
export interface Connection {
  /** `<node id>-<counter>`, unique within the process. */
  readonly id: string;
  readonly node: Node;
  readonly peer: Peer;
  readonly variant: Variant;
  /** Milliseconds since the epoch. */
  readonly connectedAt: number;
  /** Bytes handed to the transport and not yet written to the network. */
  readonly outstandingBytes: number;
  /** The oldest revision whose push to the stream is not complete, according to the attribution. */
  readonly pendingRevision?: number;
  readonly subscriptions: readonly Subscription[];
}

export interface Subscription {
  readonly typeUrl: string;
  readonly wildcard: boolean;
  /** Names subscribed to explicitly. */
  readonly names: SubscribedNames;
  /** The subscribed resources as they were last sent. Undefined before the first response. */
  readonly sent: ResourceSet | undefined;
  /** Returns one of them without creating the set. */
  sentOf(name: string): Resource | undefined;
  /** Empty before the first response. */
  readonly nonceSent: string;
  /** The last acknowledged nonce. Empty if there is none. */
  readonly nonceAcked: string;
  readonly versionSent: string;
  readonly versionAcked: string;
  /** Time of the last response in milliseconds since the epoch. */
  readonly sentAt?: number;
  /** The last NACK. Cleared by the next ACK after which no resource is rejected. */
  readonly lastError?: Rejection;
  /** Returns what the client has of a resource that was last sent; undefined if there is none of that name. */
  stateOf(name: string): ResourceState | undefined;
  /** The resources whose last version the client has not acknowledged because it rejected a response with them. */
  readonly unaccepted: readonly ResourceState[];
  /** Names whose removal was in a rejected response, and is about to be sent again. */
  readonly unremoved: readonly string[];
}

/** The state of one resource on a client. */
export interface ResourceState {
  readonly name: string;
  /** Version of the source that was sent last, or that is held back. */
  readonly version: string;
  /**
   * - `acknowledged`: the client has this version.
   * - `sent`: a response with it is unanswered.
   * - `not sent`: it is about to be sent.
   * - `rejected`: the client rejected this version by its name, or alone. It is sent again at `retryAt`.
   * - `pending`: the client rejected a response with it and others, and it is about to be sent again.
   * - `resent`: it was sent again, and the response is unanswered.
   * - `held back`: the client rejected so many responses that it is sent again later, at `retryAt`.
   */
  readonly state: "acknowledged" | "sent" | "not sent" | "rejected" | "pending" | "resent" | "held back";
  /** Version that the client acknowledged last, if it is another one and is known. It may still be active. */
  readonly acceptedVersion?: string;
  /** The last rejection of the resource itself, if it was rejected and not accepted since. */
  readonly rejection?: ResourceRejection;
  /** Time of the next attempt in milliseconds since the epoch. */
  readonly retryAt?: number;
}
