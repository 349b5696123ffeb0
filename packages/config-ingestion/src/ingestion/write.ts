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
