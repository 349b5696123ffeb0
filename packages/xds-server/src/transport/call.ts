import type { ConnectError } from "@connectrpc/connect";
import type { Sliced } from "../sliced.js";
import type { PeerIdentity } from "../limits/peer-key.js";
import type { Peer } from "../source.js";
import type { Body } from "../wire/body.js";
import type { CompressedMessage } from "../wire/body-compressor.js";
import type { XdsRequest } from "../wire/request.js";

/** One gRPC call of a discovery service, provided by a transport. */
export interface Call {
  readonly peer: Peer;
  readonly method: DiscoveryMethod;
  /** The caller for limits. Default: from the peer. */
  readonly identity?: PeerIdentity;
  /** Bytes passed to `send` and not yet written to the network. */
  readonly outstandingBytes: number;
  /** Reports whether outstanding bytes are copied for this call, rather than shared between calls. */
  readonly copies: boolean;
  /** Reports whether messages may be sent compressed with gzip. Default: false. */
  readonly acceptsGzip?: boolean;
  /** Queues a response for sending without blocking. */
  send(message: OutgoingMessage): void;
  /** Ends the call with status OK, or with the error's status, after sending queued responses. */
  end(error?: ConnectError): void;
  /** Resets the call without sending outstanding bytes. */
  abort(): void;
  /**
   * Called when the stream is admitted.
   *
   * @param identity identity of the client, if the source has authenticated it
   * @throws ConnectError `ResourceExhausted` if the identity has too many connections
   */
  admitted?(identity: string | undefined): void;
}

/** Receives the events of a call. */
export interface CallHandler {
  /** Resolves when requests may be passed. Rejects if the call is not admitted; the handler then ends it. */
  readonly admitted: Promise<void>;
  /**
   * Handles a request. If this returns a promise, the next request must be passed after it settles.
   *
   * @param request decodes the request. An error ends the call
   * @param bytes length of the encoded request, if known
   */
  request(request: Sliced<XdsRequest>, bytes: number | undefined): Promise<void> | undefined;
  /** Called after outstanding bytes were written. */
  progressed(): void;
  /** Called when the client has half-closed the call. */
  halfClosed(): void;
  /** Called exactly once, when the call is closed. */
  closed(reason: string): void;
}

/** An encoded response: a head of its own and shared bodies. */
export interface OutgoingMessage {
  readonly head: Uint8Array;
  /** Shared with other calls. The transport must reference them until they are written. */
  readonly bodies: readonly Body[];
  /** Length of the whole message in bytes, before compression. */
  readonly length: number;
  /** The message as it is sent to a call that accepts compressed ones. */
  readonly compressed?: CompressedMessage | undefined;
}

/** A method of a discovery service. */
export interface DiscoveryMethod {
  readonly variant: "delta" | "sotw";
  /** Type of a single-type service; undefined for the aggregated service. */
  readonly typeUrl: string | undefined;
}
