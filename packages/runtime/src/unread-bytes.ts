import { type Clock, monotonicClock } from "./clock.js";

/** Limits of bytes that clients have not read. */
export interface UnreadLimits {
  /** Number of bytes at which there is no room for more. Default 32 MiB. */
  readonly maxBytes?: number;
  /** Milliseconds that a client may take to read while others wait for room. Default 10,000. */
  readonly readMs?: number;
  readonly clock?: Clock;
}

interface Unread {
  readonly bytes: number;
  readonly since: number;
  readonly cutOff: () => void;
}

const checkMs = 1000;

/**
 * Bounds the bytes that servers hold for clients that do not read. Servers wait for room before they build an answer.
 * Clients that take too long to read are cut off while an answer waits for room.
 */
export class UnreadBytes {
  readonly #maxBytes: number;
  readonly #readMs: number;
  readonly #clock: Clock;
  readonly #held = new Set<Unread>();
  readonly #waiting = new Set<() => void>();
  #bytes = 0;

  constructor({ maxBytes = 32 * 1024 * 1024, readMs = 10_000, clock = monotonicClock }: UnreadLimits = {}) {
    this.#maxBytes = maxBytes;
    this.#readMs = readMs;
    this.#clock = clock;
  }

  /**
   * Counts bytes that were handed to a client. Returns a function to call when they are read.
   *
   * @param cutOff disconnects the client
   */
  hold(bytes: number, cutOff: () => void): () => void {
    const unread = { bytes, since: this.#clock.now(), cutOff };
    this.#held.add(unread);
    this.#bytes += bytes;
    return () => {
      if (!this.#held.delete(unread)) return;
      this.#bytes -= bytes;
      for (const wake of [...this.#waiting]) wake();
    };
  }

  /** Resolves when there is room for another answer. */
  async untilRoom(): Promise<void> {
    while (this.#bytes >= this.#maxBytes) {
      await this.#changed();
      const limit = this.#clock.now() - this.#readMs;
      if (this.#bytes < this.#maxBytes) return;
      for (const { since, cutOff } of [...this.#held]) if (since <= limit) cutOff();
    }
  }

  /** Resolves when bytes were read, or after a second. */
  #changed(): Promise<void> {
    return new Promise<void>((resolve) => {
      const wake = (): void => {
        cancel();
        this.#waiting.delete(wake);
        resolve();
      };
      const cancel = this.#clock.after(checkMs, wake);
      this.#waiting.add(wake);
    });
  }
}
