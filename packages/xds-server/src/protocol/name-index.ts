import { sliceNames } from "../sliced.js";
import { Digest } from "../wire/digest.js";

/** The names of a resource set, numbered from zero, shared by all subscriptions to any of them. */
export class NameIndex {
  /** The index without names. */
  static readonly empty = new NameIndex([], new Digest());

  readonly names: readonly string[];
  readonly digest: Digest;
  readonly #numbers = new Map<string, number>();

  /** Creates an index that must be filled. */
  constructor(resources: Iterable<{ readonly name: string }>, digest: Digest) {
    this.names = Array.from(resources, ({ name }) => name);
    this.digest = digest;
  }

  /** Reports whether all names have their numbers. */
  get filled(): boolean {
    return this.#numbers.size === this.names.length;
  }

  /** Numbers the next slice of names. Streams that wait for the same index take turns in this. */
  fill(): void {
    const from = this.#numbers.size;
    for (const [i, name] of this.names.slice(from, from + sliceNames).entries()) this.#numbers.set(name, from + i);
  }

  get size(): number {
    return this.names.length;
  }

  /** Returns the number of a name; undefined for other names. */
  numberOf(name: string): number | undefined {
    return this.#numbers.get(name);
  }
}
