import type { Clock } from "../clock.js";

/** So many are put together at a time, and one that has waited for so long is not made to wait any longer. */
const atOnce = 16;
const patienceMs = 5000;
/** So many buffers are kept while none is needed. */
const kept = 4;
const step = 256 * 1024;

/**
 * Buffers in which long messages are put together. A fleet that returns says all at once what it has, hundreds of kilobytes for each proxy: a
 * few of these are in memory at a time, in buffers that are used again, while flow control holds back the rest.
 */
export class LongMessages {
  readonly #clock: Clock;
  readonly #free: Buffer[] = [];
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A buffer with room for so many bytes, at once if there is one. To be given back. */
  take(length: number): Buffer | Promise<Buffer> {
    return this.#taken < atOnce ? this.#next(length) : this.#turn().then(() => this.#next(length));
  }

  #next(length: number): Buffer {
    this.#taken++;
    const fitting = this.#free.findIndex((buffer) => buffer.length >= length);
    return fitting < 0
      ? Buffer.allocUnsafeSlow(Math.ceil(length / step) * step)
      : (this.#free.splice(fitting, 1)[0] as Buffer);
  }

  /** Nobody looks at the buffer any more. */
  give(buffer: Buffer): void {
    this.#taken--;
    if (this.#free.length >= kept) this.#free.shift();
    this.#free.push(buffer);
    for (const next of this.#waiting) {
      next();
      return;
    }
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        this.#waiting.delete(go);
        stop();
        resolve();
      };
      const stop = this.#clock.after(patienceMs, go);
      this.#waiting.add(go);
    });
  }
}
