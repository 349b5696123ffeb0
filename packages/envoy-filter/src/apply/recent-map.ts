/** A map of a limited size, which forgets the entry that was used least recently. */
export class RecentMap<T> {
  readonly #limit: number;
  readonly #entries = new Map<string, T>();

  /** @param limit the largest number of entries */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Returns the value of a key, which is computed if there is none. */
  getOrCompute(key: string, compute: () => T): T {
    const known = this.#entries.get(key);
    if (known === undefined) return this.#add(key, compute());
    // Nothing is forgotten yet, so the order does not matter.
    if (this.#entries.size * 2 < this.#limit) return known;
    this.#entries.delete(key);
    return this.#add(key, known);
  }

  #add(key: string, value: T): T {
    this.#entries.set(key, value);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#limit && oldest !== undefined) this.#entries.delete(oldest);
    return value;
  }
}
