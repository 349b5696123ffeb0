import type { Digest } from "../wire/digest.js";

/** The names of a resource set, numbered from zero, shared by all subscriptions to any of them. */
export class NameIndex {
  readonly names: readonly string[];
  readonly digest: Digest;
  readonly #numbers = new Map<string, number>();

  constructor(resources: Iterable<{ readonly name: string }>, digest: Digest) {
    this.names = Array.from(resources, ({ name }) => name);
    this.digest = digest;
    for (const [number, name] of this.names.entries()) this.#numbers.set(name, number);
  }

  get size(): number {
    return this.names.length;
  }

  /** Returns the number of a name; undefined for other names. */
  numberOf(name: string): number | undefined {
    return this.#numbers.get(name);
  }
}
