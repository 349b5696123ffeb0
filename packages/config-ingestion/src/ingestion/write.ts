import type { Collection, Transaction } from "@istiod/incremental";

/** One write of a transaction that is not committed yet. */
export interface Write {
  readonly collection: Collection<unknown>;
  readonly key: string;
  /** Undefined if the entry is to be deleted. */
  readonly value: unknown;
}

/** Returns the writes that a function makes, without committing them. */
export function recordWrites(write: (tx: Transaction) => void): Write[] {
  const writes: Write[] = [];
  write({
    set: (collection, key, value) => void writes.push({ collection: collection as Collection<unknown>, key, value }),
    delete: (collection, key) => void writes.push({ collection, key, value: undefined }),
  });
  return writes;
}

/** Writes that were read and are not committed yet. The last write of an entry replaces earlier ones. */
export class PendingWrites {
  readonly #writes = new Map<Collection<unknown>, Map<string, Write>>();

  get size(): number {
    let size = 0;
    for (const ofCollection of this.#writes.values()) size += ofCollection.size;
    return size;
  }

  add(write: Write): void {
    const ofCollection = this.#writes.get(write.collection);
    if (ofCollection === undefined) this.#writes.set(write.collection, new Map([[write.key, write]]));
    else ofCollection.set(write.key, write);
  }

  /** Returns the write of an entry; undefined if there is none. */
  get(collection: Collection<unknown>, key: string): Write | undefined {
    return this.#writes.get(collection)?.get(key);
  }

  /** Removes and returns the writes that are selected. Default: all. */
  take(selects: (write: Write) => boolean = () => true): Write[] {
    const taken: Write[] = [];
    for (const ofCollection of this.#writes.values()) {
      for (const [key, write] of ofCollection) {
        if (!selects(write)) continue;
        taken.push(write);
        ofCollection.delete(key);
      }
    }
    return taken;
  }
}
