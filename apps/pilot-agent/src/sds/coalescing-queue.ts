/**
 * Values by key on their way to one reader: a newer value takes the place of one that is not read yet, so a slow reader
 * costs no memory.
 */
export class CoalescingQueue<K, V> implements AsyncIterable<[K, V]> {
  readonly #values = new Map<K, V>();
  #wake: (() => void) | undefined;
  #state: "open" | "closed" | { readonly error: unknown } = "open";

  put(key: K, value: V): void {
    if (this.#state !== "open") return;
    this.#values.set(key, value);
    this.#wake?.();
  }

  /** Ends the reader's loop after what is already there. */
  close(): void {
    if (this.#state === "open") this.#state = "closed";
    this.#wake?.();
  }

  /** Ends the reader's loop with an error. */
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
