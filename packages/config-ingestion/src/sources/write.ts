import type { Collection, Transaction } from "@istiod/incremental";

/** One write that is still to be made. */
export interface Write {
  readonly collection: Collection<unknown>;
  readonly key: string;
  /** Undefined: the entry is to be deleted. */
  readonly value: unknown;
}

/** What a function writes, without writing it. */
export function recordWrites(write: (tx: Transaction) => void): Write[] {
  const writes: Write[] = [];
  write({
    set: (of, key, value) => void writes.push({ collection: of as Collection<unknown>, key, value }),
    delete: (of, key) => void writes.push({ collection: of, key, value: undefined }),
  });
  return writes;
}
