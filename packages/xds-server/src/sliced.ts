/** Names of a request that are handled at a time. */
export const sliceNames = 4096;

/**
 * Work that is interrupted after each slice. Yields the estimated size of what it holds so far and what is not counted
 * elsewhere, in bytes.
 */
export type Sliced<T> = Generator<number, T, void>;

/** Runs all slices at once. */
export function complete<T>(work: Sliced<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Reports whether a list has a name. */
export function* includes(names: Iterable<string>, wanted: string): Sliced<boolean> {
  let handled = 0;
  for (const name of names) {
    if (name === wanted) return true;
    if (++handled % sliceNames === 0) yield 0;
  }
  return false;
}
