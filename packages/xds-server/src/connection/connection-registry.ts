import type { SourceChange } from "../source.js";
import type { Connection } from "./connection.js";

const noTypes: ReadonlySet<string> = new Set();

/** The admitted connections of a server, and those that a change must reach even if it does not name their clients. */
export class ConnectionRegistry<C> implements Iterable<Connection<C>> {
  readonly #connections = new Set<Connection<C>>();
  readonly #byClient = new Map<C, Connection<C>>();
  /** Connections whose push of an earlier change is not complete, or whose last read from the source failed. */
  readonly #unsettled = new Set<Connection<C>>();

  get size(): number {
    return this.#connections.size;
  }

  [Symbol.iterator](): Iterator<Connection<C>> {
    return this.#connections.values();
  }

  opened(connection: Connection<C>, client: C): void {
    this.#connections.add(connection);
    this.#byClient.set(client, connection);
  }

  closed(connection: Connection<C>, client: C): void {
    this.#connections.delete(connection);
    this.#unsettled.delete(connection);
    if (this.#byClient.get(client) === connection) this.#byClient.delete(client);
  }

  /** Records whether a connection can skip changes that do not name its client. */
  settled(connection: Connection<C>, settled: boolean): void {
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
    const named = new Map<Connection<C>, ReadonlySet<string>>();
    for (const [client, affected] of clients) {
      const connection = this.#byClient.get(client);
      if (connection !== undefined) named.set(connection, new Set(affected));
    }
    for (const connection of [...this.#unsettled]) if (!named.has(connection)) connection.changed(noTypes);
    for (const [connection, affected] of named) connection.changed(affected);
  }
}
