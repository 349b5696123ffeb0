/** Time in milliseconds after which work is interrupted to let other work proceed. */
const maxBusyMs = 10;

/** Breaks in long work, such as a large list, in which the event loop runs. */
export class Breaks {
  #lastAt = 0;

  /** Waits for other work if the last break was too long ago. */
  async take(): Promise<void> {
    if (performance.now() - this.#lastAt < maxBusyMs) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#lastAt = performance.now();
  }
}
