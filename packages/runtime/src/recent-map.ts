/** A map of a limited size, which forgets the entry that was used least recently. */
export class RecentMap<T> {
  readonly #limit: number;
  readonly #entries = new Map<string, T>();

  /** @param limit maximum number of entries */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Returns the value of a key, which counts as used; undefined if there is none. */
  get(key: string): T | undefined {
    const known = this.#entries.get(key);
    // Until half of the limit nothing is forgotten soon, so the order may lag behind.
    if (known === undefined || this.#entries.size * 2 < this.#limit) return known;
    this.#entries.delete(key);
    this.#entries.set(key, known);
    return known;
  }

  set(key: string, value: T): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#limit && oldest !== undefined) this.#entries.delete(oldest);
  }

  /** Returns the value of a key, which is computed if there is none. */
  getOrCompute(key: string, compute: () => T): T {
    const known = this.get(key);
    if (known !== undefined) return known;
    const value = compute();
    this.set(key, value);
    return value;
  }
}
