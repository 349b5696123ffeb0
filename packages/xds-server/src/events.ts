import type { Peer } from "./source.js";

/** The two variants of the protocol: incremental and state-of-the-world. */
export type Variant = "delta" | "sotw";

interface OfConnection {
  /** `<node id>-<counter>`, unique within the process. */
  readonly connection: string;
  readonly nodeId: string;
  readonly variant: Variant;
}

interface OfType extends OfConnection {
  readonly typeUrl: string;
}

/** A stream was admitted. */
export interface ConnectEvent extends OfConnection {
  readonly kind: "connect";
  readonly peer: Peer;
}

/** A stream was refused before it was admitted. */
export interface RefusedEvent {
  readonly kind: "refused";
  readonly peer: Peer;
  /** The name of a gRPC status code, such as `InvalidArgument`. */
  readonly code: string;
  readonly message: string;
  /** What was thrown, where that is the server's or the source's own fault: the client is not told. */
  readonly cause?: unknown;
}

/** An admitted stream ended. */
export interface DisconnectEvent extends OfConnection {
  readonly kind: "disconnect";
  readonly reason: string;
  /** What was thrown, where it ended by the server's or the source's own fault: the client is not told. */
  readonly cause?: unknown;
  /** Milliseconds since it was admitted. */
  readonly connectedMs: number;
}

/** Any request on an admitted stream. */
export interface RequestEvent extends OfType {
  readonly kind: "request";
  /** Bytes of the gRPC message without its prefix, if the transport knows them. */
  readonly bytes?: number;
  /** True if its nonce is not the last one sent: the answer to a response that a later one has replaced. */
  readonly stale: boolean;
}

/** What a response carried. */
export interface Carried {
  /** Made when they are asked for: a response can be large. */
  readonly resources: readonly { readonly name: string; readonly version: string }[];
  readonly removed: readonly string[];
}

export interface AckEvent extends OfType {
  readonly kind: "ack";
  /** What was acknowledged. */
  readonly carried: Carried;
  readonly nonce: string;
  readonly version: string;
  /** The revision of the source that the acknowledged response showed, if it has revisions. */
  readonly revision?: number;
  /** Milliseconds since the response was handed to the transport. */
  readonly afterMs: number;
  /** Milliseconds since the request or change that led to the response. */
  readonly sinceMs: number;
}

export interface NackEvent extends OfType {
  readonly kind: "nack";
  readonly error: Rejection;
  /** What was refused; undefined where the response is not known any more. */
  readonly carried?: Carried;
}

/** A client refused a response. It goes on with what it had before. */
export interface Rejection {
  readonly nonce: string;
  readonly version: string;
  /** A gRPC status code number. */
  readonly code: number;
  readonly message: string;
  /** Names of the resources in the refused response that the message mentions; all of the response's if it had only one. */
  readonly resources: readonly string[];
  /** The versions of those resources that were refused, by name. */
  readonly versions: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The revision of the source that the refused response showed, if it has revisions. */
  readonly revision?: number;
}

/** A response was handed to the transport. */
export interface PushEvent extends OfType {
  readonly kind: "push";
  readonly reason: "request" | "change";
  readonly nonce: string;
  readonly version: string;
  /** The revision of the source that the response shows, if it has revisions. */
  readonly revision?: number;
  /**
   * The changes that this response shows something of, ascending; several where they were merged. They came since the client's last response of the type, or brought, within
   * 10 s, what the client asks for now, such as the endpoints of a cluster that it was sent before.
   */
  readonly changes: readonly number[];
  /** Resources in the response. */
  readonly resources: number;
  /** Names in `removed_resources`. */
  readonly removed: number;
  /** Bytes of the gRPC message without its prefix. */
  readonly bytes: number;
  /** Milliseconds from the request or change to the start of the work on the response. */
  readonly queueMs: number;
  /** Milliseconds that the source and the encoding took. */
  readonly buildMs: number;
}

/** The turn of a client came, to be sent what changed. There may be nothing to send. */
export interface TurnEvent extends OfConnection {
  readonly kind: "turn";
  /** The revisions of the source since its last turn, ascending. */
  readonly changes: readonly number[];
  /** Milliseconds since the first of them. */
  readonly queueMs: number;
}

/** Everything that such a turn had to send was handed to the transport, and it was something. */
export interface ServedEvent extends OfConnection {
  readonly kind: "served";
  readonly responses: number;
  readonly bytes: number;
  /** Milliseconds since the first of the changes. */
  readonly sinceMs: number;
}

/** The client's side has taken all that was handed to the transport. */
export interface SentEvent extends OfConnection {
  readonly kind: "sent";
  /** Milliseconds since something was handed over while nothing was outstanding. */
  readonly afterMs: number;
}

/** The source threw when it was asked. The client keeps what it has, and the source is asked again after the next change. */
export interface FailureEvent extends OfType {
  readonly kind: "failure";
  readonly error: unknown;
}

export type XdsEvent =
  | ConnectEvent
  | RefusedEvent
  | DisconnectEvent
  | RequestEvent
  | AckEvent
  | NackEvent
  | PushEvent
  | TurnEvent
  | ServedEvent
  | SentEvent
  | FailureEvent;
