import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { LimitReason } from "./limits/limit-reason.js";
import type { PeerKey } from "./limits/peer-key.js";
import type { Peer } from "./source.js";

/** The two variants of the protocol: incremental and state-of-the-world. */
export type Variant = "delta" | "sotw";

interface ConnectionFields {
  /** `<node id>-<counter>`, unique within the process. */
  readonly connection: string;
  readonly nodeId: string;
  readonly variant: Variant;
}

interface TypeFields extends ConnectionFields {
  readonly typeUrl: string;
}

/** A stream was admitted. */
export interface ConnectEvent extends ConnectionFields {
  readonly kind: "connect";
  readonly node: Node;
  readonly peer: Peer;
}

/** A stream was rejected before it was admitted. */
export interface RejectedEvent {
  readonly kind: "rejected";
  readonly peer: Peer;
  /** Name of the gRPC status code, such as `InvalidArgument`. */
  readonly code: string;
  readonly message: string;
  /** The internal error of the server or the source, which is not sent to the client. */
  readonly cause?: unknown;
}

/** A limit rejected or ended a connection, a stream or a request. */
export interface LimitEvent {
  readonly kind: "limit";
  readonly reason: LimitReason;
  /** The address or identity that the limit counts for. */
  readonly peer: PeerKey;
}

/** An episode of memory pressure began or ended. */
export interface MemoryPressureEvent {
  readonly kind: "memoryPressure";
  readonly isHigh: boolean;
  /** Bytes of memory in use, without garbage. */
  readonly used: number;
  /** Maximum of these bytes. */
  readonly limit: number;
}

/** An admitted stream ended. */
export interface DisconnectEvent extends ConnectionFields {
  readonly kind: "disconnect";
  readonly reason: string;
  /** Name of the gRPC status code, if the server ended the stream with an error. */
  readonly code?: string;
  /** The internal error of the server or the source, which is not sent to the client. */
  readonly cause?: unknown;
  /** Milliseconds since the stream was admitted. */
  readonly connectedMs: number;
}

/** A request on an admitted stream. */
export interface RequestEvent extends TypeFields {
  readonly kind: "request";
  /** Length of the gRPC message without its prefix, if known. */
  readonly bytes?: number;
  /** Set if the request's nonce is not the last one sent. */
  readonly stale: boolean;
}

/** A request of a type that the source does not serve. It has no effect but an empty response. */
export interface IgnoredEvent extends TypeFields {
  readonly kind: "ignored";
}

/** The content of a response. */
export interface Carried {
  /** Computed on access, because a response can be large. */
  readonly resources: readonly { readonly name: string; readonly version: string }[];
  readonly removed: readonly string[];
}

export interface AckEvent extends TypeFields {
  readonly kind: "ack";
  /** Content of the acknowledged response. */
  readonly carried: Carried;
  readonly nonce: string;
  readonly version: string;
  /** Revision that the response was attributed to, if any. */
  readonly revision?: number;
  /** Milliseconds since the response was handed to the transport. */
  readonly afterMs: number;
  /** Milliseconds since the request or change that triggered the response. */
  readonly sinceMs: number;
}

export interface NackEvent extends TypeFields {
  readonly kind: "nack";
  readonly error: Rejection;
  /** Set if the rejected response sent resources of an earlier rejected response again. */
  readonly isRetry?: true;
  /** Content of the rejected response; undefined if the server no longer remembers it. */
  readonly carried?: Carried;
}

/** A NACK. What of the response is active on the client is known once its resources were sent again and answered. */
export interface Rejection {
  readonly nonce: string;
  readonly version: string;
  /** A gRPC status code number. */
  readonly code: number;
  readonly message: string;
  /**
   * Names of the rejected resources: those that the message names as invalid, or the only one of the response. Empty if
   * they are not known yet.
   */
  readonly resources: readonly string[];
  /** Rejected versions of those resources by name. */
  readonly versions: Readonly<Record<string, string>>;
  /** Reason for each of those resources by name, without dumps of resources. */
  readonly reasons: Readonly<Record<string, string>>;
  /**
   * Names of the other resources of the response that the client has not acknowledged. They are sent again. Computed on
   * access.
   */
  readonly pending: readonly string[];
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Revision that the response was attributed to, if any. */
  readonly revision?: number;
}

/** The rejection of one resource. */
export interface ResourceRejection {
  readonly version: string;
  /** The client's message about the resource, without dumps of resources. */
  readonly reason: string;
  /** A gRPC status code number. */
  readonly code: number;
  /** Nonce of the rejected response. */
  readonly nonce: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Rejections in a row. */
  readonly attempts: number;
}

/** A response was handed to the transport. */
export interface PushEvent extends TypeFields {
  readonly kind: "push";
  readonly reason: "request" | "change";
  readonly nonce: string;
  readonly version: string;
  /** Revision that the response is attributed to, if any. */
  readonly revision?: number;
  /** Revisions of the changes that the response is attributed to, ascending; several if changes were merged. */
  readonly changes: readonly number[];
  /** Resources in the response. */
  readonly resources: number;
  /** Names in `removed_resources`. */
  readonly removed: number;
  /** Set if the response sends resources of a rejected response again. */
  readonly isRetry?: true;
  /** Length of the gRPC message without its prefix. */
  readonly bytes: number;
  /** Milliseconds from the request or change until the response was started. */
  readonly queueMs: number;
  /** Milliseconds that the source, the comparison and the encoding took. */
  readonly buildMs: number;
}

/** A push because of changes left the queue. It may turn out to be empty. */
export interface PushStartEvent extends ConnectionFields {
  readonly kind: "pushStart";
  /** Revisions of the changes since the stream's last push, ascending. */
  readonly changes: readonly number[];
  /** Milliseconds since the first of these changes. */
  readonly queueMs: number;
}

/** All responses of a push, of which there was at least one, were handed to the transport. */
export interface PushEndEvent extends ConnectionFields {
  readonly kind: "pushEnd";
  readonly responses: number;
  readonly bytes: number;
  /** Milliseconds since the first of the changes. */
  readonly sinceMs: number;
}

/** Everything that was handed to the transport was written to the network. */
export interface SentEvent extends ConnectionFields {
  readonly kind: "sent";
  /** Milliseconds since the first response was handed over. */
  readonly afterMs: number;
}

/** The source threw. The client keeps the last good config, and the source is read again after the next change. */
export interface FailureEvent extends TypeFields {
  readonly kind: "failure";
  readonly error: unknown;
}

export type XdsEvent =
  | ConnectEvent
  | RejectedEvent
  | LimitEvent
  | MemoryPressureEvent
  | DisconnectEvent
  | RequestEvent
  | IgnoredEvent
  | AckEvent
  | NackEvent
  | PushEvent
  | PushStartEvent
  | PushEndEvent
  | SentEvent
  | FailureEvent;
