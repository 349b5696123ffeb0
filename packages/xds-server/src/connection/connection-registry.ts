import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { ConnectError } from "@connectrpc/connect";
import type { Connection } from "../api.js";
import type { SourceChange } from "../source.js";

const noTypes: ReadonlySet<string> = new Set();

/** A connection as the server manages it. */
export interface ManagedConnection {
  readonly id: string;
  /**
   * Time since which the client has not read anything, in milliseconds since the epoch; undefined if nothing is
   * outstanding.
   */
  readonly stalledSince: number | undefined;
  /** Queues a push if a change affects the stream. `types` as in `AdsStream.changed`. */
  changed(types: ReadonlySet<string> | undefined): void;
  /** Ends the stream after sending queued responses. */
  end(error: ConnectError | undefined, reason: string): void;
  /** Resets the stream. */
  abort(reason: string): void;
  /** The node of the client; undefined until the stream is admitted. */
  readonly node: Node | undefined;
  /** Returns the state of the stream; undefined until it is admitted. */
  snapshot(): Connection | undefined;
  /** Yields the resources that the client rejects now, with their type URL. */
  rejectedResources(): Iterable<readonly [typeUrl: string, name: string]>;
}

/** The admitted connections of a server, and those that a change must reach even if it does not name their clients. */
export class ConnectionRegistry<C> implements Iterable<ManagedConnection> {
  readonly #connections = new Set<ManagedConnection>();
  readonly #byClient = new Map<C, ManagedConnection>();
  /** Connections whose push of an earlier change is not complete, or whose last read from the source failed. */
  readonly #unsettled = new Set<ManagedConnection>();

  get size(): number {
    return this.#connections.size;
  }

  [Symbol.iterator](): Iterator<ManagedConnection> {
    return this.#connections.values();
  }

  opened(connection: ManagedConnection, client: C): void {
    this.#connections.add(connection);
    this.#byClient.set(client, connection);
  }

  closed(connection: ManagedConnection, client: C): void {
    this.#connections.delete(connection);
    this.#unsettled.delete(connection);
    if (this.#byClient.get(client) === connection) this.#byClient.delete(client);
  }

  /** Records whether a connection can skip changes that do not name its client. */
  settled(connection: ManagedConnection, settled: boolean): void {
    if (settled) this.#unsettled.delete(connection);
    else this.#unsettled.add(connection);
  }

  /** Marks the connections that a change may affect. */
  changed({ types, clients }: Pick<SourceChange<C>, "types" | "clients">): void {
    if (clients === undefined) {
      const affected = types && new Set(types);
      for (const connection of this.#connections) connection.changed(affected);
      return;
    }
    const named = new Map<ManagedConnection, ReadonlySet<string>>();
    for (const [client, affected] of clients) {
      const connection = this.#byClient.get(client);
      if (connection !== undefined) named.set(connection, new Set(affected));
    }
    for (const connection of [...this.#unsettled]) if (!named.has(connection)) connection.changed(noTypes);
    for (const [connection, affected] of named) connection.changed(affected);
  }
}
