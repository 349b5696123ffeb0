import type { Resource, ResourceSet } from "@istiod/resources";
import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";

/**
 * Where a server's resources come from. The server asks; the source answers from what it has at that moment and says when
 * to ask again. `C` is whatever the source wants to remember about one client.
 */
export interface ResourceSource<C = unknown> {
  /** Whether there is anything to serve yet. While false, streams are refused with `Unavailable`. */
  ready(): boolean;

  /**
   * Admits a client, once for a stream, when its first request has come. The node has a non-empty id.
   *
   * @throws ConnectError to refuse: its code and message are what the client receives. Any other error becomes `Internal`.
   */
  open(node: Node, peer: Peer): C | Promise<C>;

  /**
   * All resources of a type that the client should have: for a wildcard subscription, all of them are sent; else those
   * that it names. Undefined if the source does not serve this type. Must give the same object, or a set sharing parts
   * with it, for as long as nothing changed: sets are compared by identity first.
   */
  resources(client: C, typeUrl: string): ResourceSet | undefined;

  /** A resource that is not in the set of its type, for a client that subscribes to it by name. */
  lookup?(client: C, typeUrl: string, name: string): Resource | undefined;

  /**
   * For types that are asked about and not watched, such as debug commands: what to answer each request with. Undefined for all other types.
   * Such a request does not count among the client's subscriptions.
   *
   * @param names as the request lists them; only to be read for types of this kind, and before this returns
   * @throws ConnectError to end the stream with it
   */
  answer?(client: C, typeUrl: string, names: Iterable<string>): Answer | Promise<Answer> | undefined;

  /**
   * Calls the listener after each change that may alter an answer. Gives the function that ends this.
   *
   * @param changing to be called before each change, while the source still answers as before: so changes that are merged for a client are
   * told apart in what is reported. A source that cannot call it need not.
   */
  watch(listener: (change: SourceChange<C>) => void, changing: () => void): () => void;

  /** The stream of this client ended. */
  close?(client: C): void;
}

/** The answer to a request of a type that is not watched. */
export interface Answer {
  /** Messages of any types. Names are for delta clients. */
  readonly resources: readonly { readonly name: string; readonly typeUrl: string; readonly bytes: Uint8Array }[];
  /** The identifier of the control plane that answers. */
  readonly controlPlane?: string;
}

/** What changed in a source, as far as it cares to say. */
export interface SourceChange<C = never> {
  /** The source's own number of this state; reported with the pushes that it leads to. */
  readonly revision?: number;
  /** The type URLs that may differ. All of them if absent. */
  readonly types?: readonly string[];
  /**
   * The clients that may be answered otherwise, each with the type URLs in question; all clients if absent. A client that was named and has not
   * been asked for since need not be named again: its turn is still to come. No two streams may have the same client.
   */
  readonly clients?: ReadonlyMap<C, Iterable<string>>;
}

/** The other end of a stream, as the transport knows it. */
export interface Peer {
  readonly address: string;
  readonly port: number;
  /** Request headers with lower-case names; values of a repeated header are joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** Present on a TLS connection. */
  readonly tls?: PeerTls;
}

export interface PeerTls {
  /** The client's certificate in DER, then its issuers, as far as the client sent them. Empty if it sent none. */
  readonly certificates: readonly Uint8Array[];
  /** Whether that chain ends in one of the listener's client CAs. False if there is none. */
  readonly verified: boolean;
  /** The server name that the client asked for. */
  readonly serverName?: string;
}
