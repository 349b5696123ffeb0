/** Maximum numbers of handshakes in progress. */
export interface HandshakeLimits {
  readonly total: number;
  /** Of one group of addresses. */
  readonly perGroup: number;
}

/** A handshake in progress. */
interface Handshake<T> {
  readonly connection: T;
  readonly group: string;
  isSlow: boolean;
}

/**
 * The handshakes in progress and the connections that wait for theirs. The next connection is one of the group with the
 * fewest handshakes in progress; groups that have equally many take turns. A slow handshake loses its place to a
 * waiting connection of its own group, or of a group that has fewer in progress.
 */
export class HandshakeQueue<T> {
  readonly #limits: HandshakeLimits;
  readonly #waiting = new Map<string, Set<T>>();
  readonly #inProgress = new Map<T, Handshake<T>>();
  readonly #counts = new Map<string, number>();

  constructor(limits: HandshakeLimits) {
    this.#limits = limits;
  }

  get inProgress(): number {
    return this.#inProgress.size;
  }

  push(connection: T, group: string): void {
    const connections = this.#waiting.get(group) ?? new Set();
    this.#waiting.set(group, connections.add(connection));
  }

  /**
   * Moves the next connection from those that wait to those in progress. Returns undefined if none waits or none has a
   * place. The connection in `instead` lost its place to it, and must be closed.
   */
  begin(): { readonly connection: T; readonly instead?: T } | undefined {
    const group = this.#next();
    if (group === undefined) return undefined;
    const { total, perGroup } = this.#limits;
    if (this.#inProgress.size < total && this.#count(group) < perGroup) return { connection: this.#begin(group) };
    const instead = this.#victim(group);
    if (instead === undefined) return undefined;
    this.delete(instead);
    return { connection: this.#begin(group), instead };
  }

  /** Records that a handshake takes long, unless it has ended. */
  markSlow(connection: T): void {
    const handshake = this.#inProgress.get(connection);
    if (handshake !== undefined) handshake.isSlow = true;
  }

  /** Removes a connection whose handshake has ended, or that was closed. */
  delete(connection: T, group = this.#inProgress.get(connection)?.group): void {
    if (group === undefined) return;
    if (this.#inProgress.delete(connection)) {
      const left = this.#count(group) - 1;
      if (left > 0) this.#counts.set(group, left);
      else this.#counts.delete(group);
    }
    const waiting = this.#waiting.get(group);
    if (waiting?.delete(connection) && waiting.size === 0) this.#waiting.delete(group);
  }

  #begin(group: string): T {
    const waiting = this.#waiting.get(group) as Set<T>;
    const [connection] = waiting as Iterable<T> as [T];
    waiting.delete(connection);
    // The last group in the order of turns.
    this.#waiting.delete(group);
    if (waiting.size > 0) this.#waiting.set(group, waiting);
    this.#inProgress.set(connection, { connection, group, isSlow: false });
    this.#counts.set(group, this.#count(group) + 1);
    return connection;
  }

  #next(): string | undefined {
    let next: string | undefined;
    for (const group of this.#waiting.keys()) {
      if (next === undefined || this.#count(group) < this.#count(next)) next = group;
      if (this.#count(next) === 0) return next;
    }
    return next;
  }

  /** Returns the oldest slow handshake of the group with the most in progress that has to make room for another. */
  #victim(waiting: string): T | undefined {
    let victim: Handshake<T> | undefined;
    for (const handshake of this.#inProgress.values()) {
      const { group, isSlow } = handshake;
      if (!isSlow || (group !== waiting && this.#count(group) <= this.#count(waiting))) continue;
      if (victim === undefined || this.#count(group) > this.#count(victim.group)) victim = handshake;
    }
    return victim?.connection;
  }

  #count(group: string): number {
    return this.#counts.get(group) ?? 0;
  }
}
