import type { Clock } from "@istiod/settings";

/** Buffers in use at the same time. A message that has waited for the grace period exceeds the limit. */
const maxInUse = 16;
const waitLimitMs = 5000;
/** Free buffers kept for reuse. */
const maxFree = 4;
const sizeStep = 256 * 1024;

/**
 * A pool of buffers in which long messages are reassembled. When a fleet reconnects, each proxy sends hundreds of
 * kilobytes of initial versions at once: only a few of these messages are in memory at a time, and flow control holds
 * back the rest.
 */
export class MessageBuffers {
  readonly #clock: Clock;
  readonly #free: Buffer[] = [];
  readonly #waiters = new Set<() => void>();
  #inUse = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Acquires a buffer of at least the given length, synchronously if the pool is not exhausted. */
  acquire(length: number): Buffer | Promise<Buffer> {
    return this.#inUse < maxInUse ? this.#allocate(length) : this.#wait().then(() => this.#allocate(length));
  }

  #allocate(length: number): Buffer {
    this.#inUse++;
    const fitting = this.#free.findIndex((buffer) => buffer.length >= length);
    return fitting < 0
      ? Buffer.allocUnsafeSlow(Math.ceil(length / sizeStep) * sizeStep)
      : (this.#free.splice(fitting, 1)[0] as Buffer);
  }

  /** Returns a buffer to the pool. */
  release(buffer: Buffer): void {
    this.#inUse--;
    if (this.#free.length >= maxFree) this.#free.shift();
    this.#free.push(buffer);
    for (const next of this.#waiters) {
      next();
      return;
    }
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        this.#waiters.delete(go);
        stop();
        resolve();
      };
      const stop = this.#clock.after(waitLimitMs, go);
      this.#waiters.add(go);
    });
  }
}
