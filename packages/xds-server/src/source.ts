import type { Resource, ResourceSet } from "@istiod/resources";
import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";

/**
 * The source of a server's resources. The server reads resources from the source's current state; the source reports
 * changes, after which the server reads again. `C` is the source's own state of one client.
 */
export interface ResourceSource<C = unknown> {
  /** Reports whether the first snapshot is ready. Until then, streams are rejected with `Unavailable`. */
  ready(): boolean;

  /**
   * Admits a client. Called once per stream, on its first request. The node has a non-empty id.
   *
   * @throws ConnectError to reject the client with this code and message. Any other error becomes `Internal`.
   */
  open(node: Node, peer: Peer): C | Promise<C>;

  /**
   * Returns the resources of a type for a client; undefined if the source does not serve the type. All of them are sent
   * for a wildcard subscription, otherwise those that the client subscribes to. Must return the same object while
   * nothing has changed, or a set that shares unchanged parts with it: sets are compared by identity first.
   *
   * @param wildcard whether the client subscribes to all resources. Default: true. Otherwise a source may return fewer
   *   of them and leave the others to `lookup`
   */
  resources(client: C, typeUrl: string, wildcard?: boolean): ResourceSet | undefined;

  /**
   * Reports whether clients may subscribe to a type. A request of any other type gets an empty response without a
   * subscription, and a stream with too many of these types is ended. Default: every type.
   *
   * @throws ConnectError to end the stream of a client that may not subscribe to the type
   */
  serves?(typeUrl: string, client: C): boolean;

  /**
   * Returns the type URL of the messages that carry the resources of a type. Must always return the same for a type.
   * Default: the type itself.
   */
  messageType?(typeUrl: string): string;

  /**
   * Returns the verified identity of a client, by which limits are shared; undefined if it is not authenticated. Then
   * the limits of unauthenticated streams apply, shared by address. Default: undefined.
   */
  identity?(client: C): string | undefined;

  /** Returns a resource that is not in the set of its type, for a client that subscribes to it by name. */
  lookup?(client: C, typeUrl: string, name: string): Resource | undefined;

  /**
   * Reports whether a resource exists and cannot be generated now, so that neither the set nor `lookup` has it. A
   * client that has a version of it keeps that. Default: there are none.
   */
  isFailing?(client: C, typeUrl: string, name: string): boolean;

  /**
   * Receives a request of a type by which clients only report, such as the health of a workload, and returns true. It
   * gets no response. `error` is that of the request: a report of a failure. Default: there are no such types.
   */
  report?(client: C, typeUrl: string, error: { readonly message: string } | undefined): boolean;

  /** Called when a client is no longer subscribed to a name that `lookup` was called with. */
  unsubscribed?(client: C, typeUrl: string, name: string): void;

  /** Calls the listener after each change. Returns a function that stops this. */
  watch(listener: (change: SourceChange<C>) => void): () => void;

  /** Called when the stream of a client has ended. */
  close?(client: C): void;
}

/**
 * Returns the response to a request of an on-demand type, such as a debug command; undefined for all other types.
 * On-demand types are not subscribed to: each request is answered once.
 *
 * @param node the node of the stream, as the source admitted it
 * @param names the requested names; to be read only for on-demand types, and before this returns
 * @param untilRoom resolves when the answers that clients have not read leave room for another one, to wait for before
 *   a large one is built
 * @throws ConnectError to end the stream with it
 */
export type OnDemandHandler = (
  node: Node,
  typeUrl: string,
  names: Iterable<string>,
  untilRoom: () => Promise<void>,
) => Answer | Promise<Answer> | undefined;

/** The response to a request of an on-demand type. */
export interface Answer {
  /** Messages of any types. Names are sent to delta clients only. */
  readonly resources: readonly { readonly name: string; readonly typeUrl: string; readonly bytes: Uint8Array }[];
  /** Identifier of the control plane. */
  readonly controlPlane?: string;
}

/** A change of a source. */
export interface SourceChange<C = never> {
  /** Number of the new state, passed to the attribution. */
  readonly revision?: number;
  /** The affected type URLs. Default: all. */
  readonly types?: readonly string[];
  /**
   * The affected clients, each with the affected type URLs. Default: all clients. A client need not be named again
   * until the server has read its resources. No two streams may have the same client.
   */
  readonly clients?: ReadonlyMap<C, Iterable<string>>;
}

/** The client's side of a connection. */
export interface Peer {
  readonly address: string;
  readonly port: number;
  /** Request headers with lower-case names; values of a repeated header are joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** Present on a TLS connection. */
  readonly tls?: PeerTls;
}

export interface PeerTls {
  /** The client's certificate chain in DER, leaf first. Empty if the client sent none. */
  readonly certificates: readonly Uint8Array[];
  /** Reports whether the chain was verified against the listener's client CAs. */
  readonly verified: boolean;
  /** Server name indication (SNI). */
  readonly serverName?: string;
}
