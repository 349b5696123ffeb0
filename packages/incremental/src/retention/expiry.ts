/** Something that may be dropped when it has not been used for long enough. */
export interface Expiring {
  /** The revision since which nothing uses it. */
  unusedSince: number;
  /** Whether it waits in an `Expiry`. */
  queued: boolean;
}

/** What is not used, in the order in which it was added. What is used again leaves when its turn comes. */
export class Expiry<T extends Expiring> {
  #items: T[] = [];
  #addedAt: number[] = [];
  #next = 0;

  add(item: T, revision: number): void {
    item.unusedSince = revision;
    if (item.queued) return;
    item.queued = true;
    this.#push(item, revision);
  }

  /** Takes out everything that is not used since `before` or longer. */
  take(before: number, now: number, used: (item: T) => boolean): T[] {
    const taken: T[] = [];
    for (; this.#next < this.#items.length && (this.#addedAt[this.#next] as number) <= before; this.#next++) {
      const item = this.#items[this.#next] as T;
      if (used(item)) item.queued = false;
      else if (item.unusedSince > before) this.#push(item, now);
      else {
        item.queued = false;
        taken.push(item);
      }
    }
    this.#shorten();
    return taken;
  }

  /** Takes out, the longest waiting first, what is not used, until no more wait than `most`. */
  takeBeyond(most: number, used: (item: T) => boolean): T[] {
    const taken: T[] = [];
    for (; this.#items.length - this.#next > most; this.#next++) {
      const item = this.#items[this.#next] as T;
      item.queued = false;
      if (!used(item)) taken.push(item);
    }
    this.#shorten();
    return taken;
  }

  clear(): void {
    this.#items = [];
    this.#addedAt = [];
    this.#next = 0;
  }

  #shorten(): void {
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
