import type { PeerKey } from "./peer-key.js";

/** Items grouped by peer. Finds the peer with the most items in constant time. */
export class PeerGroups<T> {
  readonly #groups = new Map<PeerKey, Set<T>>();
  /** Peers by their number of items. */
  readonly #bySize: Set<PeerKey>[] = [];
  #largest = 0;
  #size = 0;

  /** Number of items. */
  get size(): number {
    return this.#size;
  }

  /** Keys of the peers that have items, in the order in which they became known. */
  get peers(): IterableIterator<PeerKey> {
    return this.#groups.keys();
  }

  /** Number of peers that have items. */
  get peerCount(): number {
    return this.#groups.size;
  }

  /** Returns the items of a peer, oldest first. */
  of(key: PeerKey): ReadonlySet<T> {
    return this.#groups.get(key) ?? none;
  }

  add(key: PeerKey, item: T): void {
    const group = this.#groups.get(key) ?? new Set<T>();
    if (group.has(item)) return;
    this.#groups.set(key, group.add(item));
    this.#size++;
    this.#resized(key, group.size - 1, group.size);
  }

  /** Removes an item. Returns false if it is not in the group of the peer. */
  delete(key: PeerKey, item: T): boolean {
    const group = this.#groups.get(key);
    if (group?.delete(item) !== true) return false;
    this.#size--;
    if (group.size === 0) this.#groups.delete(key);
    this.#resized(key, group.size + 1, group.size);
    return true;
  }

  /** Makes a peer the last one. */
  moveToEnd(key: PeerKey): void {
    const group = this.#groups.get(key);
    if (group === undefined) return;
    this.#groups.delete(key);
    this.#groups.set(key, group);
  }

  /** Returns a peer with the most items; undefined if there are none. */
  heaviest(): PeerKey | undefined {
    return this.#bySize[this.#largest]?.values().next().value;
  }

  #resized(key: PeerKey, from: number, to: number): void {
    this.#bySize[from]?.delete(key);
    if (to > 0) (this.#bySize[to] ??= new Set()).add(key);
    this.#largest = Math.max(this.#largest, to);
    while (this.#largest > 0 && (this.#bySize[this.#largest]?.size ?? 0) === 0) this.#largest--;
  }
}

const none: ReadonlySet<never> = new Set<never>();

/** Returns the last item of a set. */
export function newest<T>(items: Iterable<T>): T | undefined {
  let last: T | undefined;
  for (const item of items) last = item;
  return last;
}
