/** A queue for one reader that keeps only the latest value of each key, so that a slow reader bounds its memory. */
export class CoalescingQueue<K, V> implements AsyncIterable<[K, V]> {
  readonly #values = new Map<K, V>();
  #wake: (() => void) | undefined;
  #state: "open" | "closed" | { readonly error: unknown } = "open";

  put(key: K, value: V): void {
    if (this.#state !== "open") return;
    this.#values.set(key, value);
    this.#wake?.();
  }

  /** Ends the iteration after the queued values. */
  close(): void {
    if (this.#state === "open") this.#state = "closed";
    this.#wake?.();
  }

  /** Ends the iteration with an error after the queued values. */
  fail(error: unknown): void {
    if (this.#state === "open") this.#state = { error };
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<[K, V]> {
    for (;;) {
      for (const [key, value] of this.#values) {
        this.#values.delete(key);
        yield [key, value];
      }
      if (typeof this.#state === "object") throw this.#state.error;
      if (this.#values.size > 0) continue;
      if (this.#state === "closed") return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
