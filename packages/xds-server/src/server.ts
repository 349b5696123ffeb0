import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { Resource, ResourceSet } from "@istiod/resources";
import type { ConnectRouter } from "@connectrpc/connect";
import type { Clock } from "./clock.js";
import type { Rejection, Variant, XdsEvent } from "./events.js";
import type { Peer } from "./source.js";
import type { Call, CallHandler } from "./transport/call.js";

/** How much is done at once, and when a client is given up. */
export interface XdsServerOptions {
  /** Called for everything that happens on streams. Must not throw. */
  readonly observe?: (event: XdsEvent) => void;
  /** Clients that are worked on at the same time after a change (Istio: `PILOT_PUSH_THROTTLE`). Default 100. */
  readonly concurrentPushes?: number;
  /** New streams a second; a stream that would have to wait longer than 1 s is refused with `ResourceExhausted`. Default: no limit. */
  readonly streamsPerSecond?: number;
  /** A client that has not taken what was sent to it for so long is disconnected. Default 60,000 ms. */
  readonly sendTimeoutMs?: number;
  /** While a client has not taken more than this, no further response is made for it. Default 65,536. */
  readonly maxOutstandingBytes?: number;
  /** Bytes of responses that a copying transport may hold before work on further clients waits. Default 268,435,456. */
  readonly maxCopiedBytes?: number;
  /** Bytes of encoded responses kept for clients that are sent the same within the next seconds. Default 67,108,864. */
  readonly bodyCacheBytes?: number;
  /** How long they are kept since they were last sent. Default 10,000 ms. */
  readonly bodyCacheMs?: number;
  /** Default: the clock of the process. */
  readonly clock?: Clock;
}

/**
 * How messages get onto HTTP/2. `http2` writes shared buffers straight to Node's HTTP/2 streams; `connect` is a handler of
 * connect-node, which copies each message and costs about thirty times the CPU for large ones.
 */
export type TransportName = "http2" | "connect";

export interface ListenOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Absent: plaintext HTTP/2 with prior knowledge. */
  readonly tls?: TlsOptions;
  /** Default "http2". */
  readonly transport?: TransportName;
  /** Further services on the same port. */
  readonly routes?: (router: ConnectRouter) => void;
  /** A ping is sent after so long, and the connection ended if it is not answered. Default 30,000 and 10,000 ms. */
  readonly keepAlive?: { readonly intervalMs: number; readonly timeoutMs: number };
  /** A connection is told to end after so long, give or take a tenth; after the grace its streams end with `Unavailable`, and it too. Default: never. */
  readonly maxAge?: { readonly ms: number; readonly graceMs: number };
  /** Requests longer than this are refused with `ResourceExhausted`. Default 4,194,304 (Istio: `ISTIO_GPRC_MAXRECVMSGSIZE`). */
  readonly maxRequestBytes?: number;
  /** Streams that one connection may have open. Default 100,000 (Istio: `ISTIO_GPRC_MAXSTREAMS`). */
  readonly maxStreams?: number;
}

export interface TlsOptions {
  /** PEM: the server's certificate, then its issuers. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
  /** PEM certificates that client certificates must descend from. Clients may come without one. */
  readonly clientCa?: string;
  /** Default "TLSv1.2". */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
  /** Default: the newest. */
  readonly maxVersion?: "TLSv1.2" | "TLSv1.3";
  /** OpenSSL cipher list. Without a suite of TLS 1.3 that version is not spoken. Default: Node's. */
  readonly ciphers?: string;
  /** Curves of the key exchange, separated by colons. Default: Node's. */
  readonly curves?: string;
}

export interface Listening {
  readonly host: string;
  readonly port: number;
  /** Uses other certificates for connections made from now on. */
  renew(tls: TlsOptions): void;
  /** Stops accepting; streams in progress go on until the server is closed. */
  close(): void;
}

/** One protocol engine with any number of listeners. */
export interface XdsServer {
  listen(options: ListenOptions): Promise<Listening>;
  /** Takes a call from a transport of another's making. */
  accept(call: Call): CallHandler;
  /** Every admitted stream, oldest first. */
  connections(): readonly Connection[];
  /** The oldest revision of the source that some client has not had its turn with, or is still being sent. Undefined if all are served. */
  unserved(): number | undefined;
  /** Ends a stream with `Unavailable`, so that the client connects anew. False if there is none of this id. */
  disconnect(id: string, reason?: string): boolean;
  /** Asks the source again for all clients, as after a change. */
  push(): void;
  /**
   * Refuses new streams, tells clients to go elsewhere, and ends the streams with `Unavailable`, evenly over `graceMs`
   * (default 5,000), or one each 50 ms where they are few, so that clients spread over other replicas and do not come there all at once; those that are being sent
   * something last. Then ends all listeners. At once if there are no streams.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** The state of a stream at the moment of asking. */
export interface Connection {
  /** `<node id>-<counter>`, unique within the process. */
  readonly id: string;
  readonly node: Node;
  readonly peer: Peer;
  readonly variant: Variant;
  /** Milliseconds since the epoch. */
  readonly connectedAt: number;
  /** Bytes handed to the transport that the client's side has not taken. */
  readonly outstandingBytes: number;
  /** The oldest revision of the source that it is still to be served; absent: none. */
  readonly owed?: number;
  readonly subscriptions: readonly Subscription[];
}

export interface Subscription {
  readonly typeUrl: string;
  readonly wildcard: boolean;
  /** Names subscribed to explicitly. */
  readonly names: SubscribedNames;
  /** The client's resources as they were last sent. Undefined before the first response. */
  readonly sent: ResourceSet | undefined;
  /** One of them, without making a set of them. */
  sentOf(name: string): Resource | undefined;
  /** Empty before the first response. */
  readonly nonceSent: string;
  /** The last nonce that was acknowledged. Empty if none was. */
  readonly nonceAcked: string;
  readonly versionSent: string;
  readonly versionAcked: string;
  /** Milliseconds since the epoch of the last response. */
  readonly sentAt?: number;
  /** The last response was refused. Cleared by the next acknowledgement. */
  readonly lastError?: Rejection;
}

/** The names of a subscription, as they are at the moment of looking. */
export interface SubscribedNames extends Iterable<string> {
  readonly size: number;
  has(name: string): boolean;
  /** Those that are not names of the set. Costs little where it is the one that was sent last. */
  outside(set: ResourceSet): Iterable<string>;
}
