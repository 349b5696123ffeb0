import type { LimitReason } from "./limit-reason.js";
import { newest, PeerGroups } from "./peer-groups.js";
import type { PeerKey } from "./peer-key.js";

/** Maximum numbers of connections of a server. */
export interface ConnectionLimits {
  /** All connections. */
  readonly total: number;
  /** Connections of clients that are not authenticated, or not yet. */
  readonly unauthenticated: number;
  /** Unauthenticated connections of one address. */
  readonly perAddress: number;
  /** Connections of one authenticated identity. */
  readonly perIdentity: number;
}

/** A connection that is counted. */
export interface CountedConnection {
  /** The address until the client is authenticated, then its identity. */
  readonly key: PeerKey;
  readonly isAuthenticated: boolean;
  /** Reports whether a stream of the connection was admitted. */
  readonly isAdmitted: boolean;
  close(reason: LimitReason): void;
}

interface Entry extends CountedConnection {
  key: PeerKey;
  isAuthenticated: boolean;
  isAdmitted: boolean;
  /** Number in the order of opening. */
  readonly number: number;
}

/**
 * Counts the connections of a server. Where it is full, the peer with the most unauthenticated connections loses one to
 * a peer that has fewer: no address can keep others out.
 */
export class ConnectionTable {
  readonly #limits: ConnectionLimits;
  readonly #unauthenticated = new PeerGroups<Entry>();
  readonly #authenticated = new PeerGroups<Entry>();
  #opened = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#unauthenticated.size + this.#authenticated.size;
  }

  get unauthenticated(): number {
    return this.#unauthenticated.size;
  }

  /** Adds a connection, or returns the limit that rejects it. */
  add(key: PeerKey, close: (reason: LimitReason) => void): CountedConnection | LimitReason {
    const own = this.#unauthenticated.of(key).size;
    if (own >= this.#limits.perAddress) return "connections_per_peer";
    const isFull = this.size >= this.#limits.total || this.unauthenticated >= this.#limits.unauthenticated;
    if (isFull && !this.#makeRoom(own)) return "connections";
    const entry: Entry = { key, isAuthenticated: false, isAdmitted: false, number: ++this.#opened, close };
    this.#unauthenticated.add(key, entry);
    return entry;
  }

  /** Records that a stream of the connection was admitted. */
  admitted(connection: CountedConnection): void {
    (connection as Entry).isAdmitted = true;
  }

  /** Counts a connection for an authenticated identity from now on. Returns false if the identity has too many. */
  authenticate(connection: CountedConnection, identity: PeerKey): boolean {
    const entry = connection as Entry;
    if (entry.isAuthenticated && entry.key === identity) return true;
    if (this.#authenticated.of(identity).size >= this.#limits.perIdentity) return false;
    // A connection that was closed meanwhile is no longer counted.
    if (!this.delete(entry)) return true;
    entry.key = identity;
    entry.isAuthenticated = true;
    this.#authenticated.add(identity, entry);
    return true;
  }

  /** Stops counting a connection. Returns false if it was not counted. */
  delete(connection: CountedConnection): boolean {
    const entry = connection as Entry;
    return (entry.isAuthenticated ? this.#authenticated : this.#unauthenticated).delete(entry.key, entry);
  }

  /** Closes the newest connections: those without an admitted stream first, then unauthenticated ones. */
  shedNewest(count: number): void {
    const rank = ({ isAdmitted, isAuthenticated }: Entry): number => (isAuthenticated ? 2 : isAdmitted ? 1 : 0);
    const victims = [...this.#all()].sort((a, b) => rank(a) - rank(b) || b.number - a.number);
    for (const victim of victims.slice(0, count)) this.#close(victim, "memory_pressure");
  }

  *#all(): Iterable<Entry> {
    for (const groups of [this.#authenticated, this.#unauthenticated])
      for (const peer of groups.peers) yield* groups.of(peer);
  }

  /** Closes a connection of the peer with the most, if it has more than the given number. */
  #makeRoom(own: number): boolean {
    const heaviest = this.#unauthenticated.heaviest();
    const group = heaviest === undefined ? undefined : this.#unauthenticated.of(heaviest);
    if (group === undefined || group.size <= own + 1) return false;
    const victim = oldestPending(group) ?? newest(group);
    if (victim !== undefined) this.#close(victim, "connections");
    return true;
  }

  #close(entry: Entry, reason: LimitReason): void {
    this.delete(entry);
    entry.close(reason);
  }
}

/** Returns the connection that has had the most time to open a stream. */
function oldestPending(group: Iterable<Entry>): Entry | undefined {
  for (const entry of group) if (!entry.isAdmitted) return entry;
  return undefined;
}
