import type { ConnectError } from "@connectrpc/connect";
import type { Peer } from "../source.js";
import type { Body } from "../wire/body.js";
import type { XdsRequest } from "../wire/request.js";

/** One gRPC call of a discovery service, as a transport offers it to the protocol. */
export interface Call {
  readonly peer: Peer;
  readonly method: DiscoveryMethod;
  /** Bytes given to `send` that have not left this process. */
  readonly outstandingBytes: number;
  /** Whether outstanding bytes are a copy for this call alone, and not shared with others. */
  readonly copies: boolean;
  /** Sends a response. Never waits. */
  send(message: OutgoingMessage): void;
  /** Ends the call: with status OK, or with that of the error. Responses that are not sent yet are sent first. */
  end(error?: ConnectError): void;
  /** Ends the call at once, whatever is outstanding. */
  abort(): void;
}

/** What the protocol makes of a call. */
export interface CallHandler {
  /**
   * A request came. If that gives a promise, the next one should be given when it is settled.
   *
   * @param bytes length of the encoded request, if known
   */
  request(request: XdsRequest, bytes: number | undefined): Promise<void> | undefined;
  /** Some outstanding bytes have left. */
  progressed(): void;
  /** The client sends no more requests. */
  halfClosed(): void;
  /** The call is over. To be called exactly once. */
  closed(reason: string): void;
}

/** A response in the parts that it is made of. */
export interface OutgoingMessage {
  readonly head: Uint8Array;
  /** Shared with other calls. To be held until written. */
  readonly bodies: readonly Body[];
  /** Bytes of the whole message. */
  readonly length: number;
}

export type DiscoveryMethod = {
  readonly variant: "delta" | "sotw";
  /** The only type of the service; undefined for the aggregated one. */
  readonly typeUrl: string | undefined;
};
