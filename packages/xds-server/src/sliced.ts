/** Names of a request that are handled at a time. */
export const sliceNames = 4096;
/** Names that are looked up at a time: a source may compute the resource of each. */
export const sliceLookups = 256;
/** Milliseconds after which looking up names is interrupted: a single resource, such as a key pair, may take one. */
export const sliceLookupMs = 4;

/**
 * Work that is interrupted after each slice. Yields the estimated size of what it holds so far and what is not counted
 * elsewhere, in bytes.
 */
export type Sliced<T> = Generator<number, T, void>;

/** Returns work that is complete already. */
export function* completed<T>(value: T): Sliced<T> {
  return value;
}

/** Runs all slices at once. */
export function complete<T>(work: Sliced<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Counts the names that work handles in several functions, so that their slices have the usual size together. */
export class SliceCount {
  #handled = 0;

  /** Counts names. Reports whether the slice is full. */
  add(names = 1): boolean {
    this.#handled += names;
    if (this.#handled < sliceNames) return false;
    this.#handled = 0;
    return true;
  }
}

/**
 * Work on objects whose results several streams wait for. Each stream continues it in its turns, so that it is done
 * once and does not depend on a stream that may end. It must not throw.
 */
export class SharedWork<K extends object, T> {
  readonly #states = new WeakMap<K, { readonly work: Sliced<T>; result?: { readonly value: T } }>();

  /** Returns the result for a key; `start` starts the work if no stream has. */
  *of(key: K, start: () => Sliced<T>): Sliced<T> {
    let state = this.#states.get(key);
    if (state === undefined) this.#states.set(key, (state = { work: start() }));
    for (;;) {
      if (state.result !== undefined) return state.result.value;
      const { done, value } = state.work.next();
      if (done === true) state.result = { value };
      else yield value;
    }
  }
}

/** Returns the list without some of its items: the list itself if all are kept, so that its encoding can be shared. */
export function* filtered<T>(list: readonly T[], keep: (item: T) => boolean): Sliced<readonly T[]> {
  let kept: T[] | undefined;
  for (let i = 0; i < list.length; i++) {
    if (i % sliceNames === sliceNames - 1) yield 0;
    const item = list[i] as T;
    if (!keep(item)) kept ??= list.slice(0, i);
    else kept?.push(item);
  }
  return kept ?? list;
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
