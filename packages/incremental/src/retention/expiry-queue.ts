/** A record that may be dropped when it has been unused for long enough. */
export interface Expiring {
  /** The revision since which nothing uses it. */
  unusedSince: number;
  /** True if it is in an `ExpiryQueue`. */
  queued: boolean;
}

/** A queue of unused records, in order of addition. Records that are used again are removed when their turn comes. */
export class ExpiryQueue<T extends Expiring> {
  readonly #isUsed: (item: T) => boolean;
  #items: T[] = [];
  #addedAt: number[] = [];
  #next = 0;

  constructor(isUsed: (item: T) => boolean) {
    this.#isUsed = isUsed;
  }

  add(item: T, revision: number): void {
    item.unusedSince = revision;
    if (item.queued) return;
    item.queued = true;
    this.#push(item, revision);
  }

  /**
   * Removes and returns the records that are unused since the revision `before` or longer, of the `most` oldest ones.
   * `now` is the current revision.
   */
  takeExpired(before: number, now: number, most = Infinity): T[] {
    const taken: T[] = [];
    const end = Math.min(this.#items.length, this.#next + most);
    for (; this.#next < end && (this.#addedAt[this.#next] as number) <= before; this.#next++) {
      const item = this.#items[this.#next] as T;
      if (this.#isUsed(item)) item.queued = false;
      else if (item.unusedSince > before) this.#push(item, now);
      else {
        item.queued = false;
        taken.push(item);
      }
    }
    this.#compact();
    return taken;
  }

  /** Removes the oldest records until at most `limit` are left. Returns those that are unused. */
  takeBeyond(limit: number): T[] {
    const taken: T[] = [];
    for (; this.#items.length - this.#next > limit; this.#next++) {
      const item = this.#items[this.#next] as T;
      item.queued = false;
      if (!this.#isUsed(item)) taken.push(item);
    }
    this.#compact();
    return taken;
  }

  clear(): void {
    this.#items = [];
    this.#addedAt = [];
    this.#next = 0;
  }

  #compact(): void {
    if (this.#next === this.#items.length) this.clear();
    else if (this.#next > 1024 && this.#next * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#next);
      this.#addedAt = this.#addedAt.slice(this.#next);
      this.#next = 0;
    }
  }

  #push(item: T, revision: number): void {
    this.#items.push(item);
    this.#addedAt.push(revision);
  }
}
