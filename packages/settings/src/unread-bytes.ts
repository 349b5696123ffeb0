import { type Clock, monotonicClock } from "./clock.js";

/** Limits of bytes that clients have not read. */
export interface UnreadLimits {
  /** Bytes from which on there is no room for more. */
  readonly maxBytes: number;
  /** Milliseconds that a client may take to read while others wait for room. */
  readonly readMs: number;
  readonly clock?: Clock;
}

interface Unread {
  readonly bytes: number;
  readonly since: number;
  readonly cutOff: () => void;
}

const checkMs = 1000;

/**
 * Bounds the bytes that servers hold for clients that do not read: whoever builds an answer waits for room before.
 * Clients that take too long are cut off while somebody waits.
 */
export class UnreadBytes {
  readonly #limits: UnreadLimits;
  readonly #clock: Clock;
  readonly #held = new Set<Unread>();
  readonly #waiting = new Set<() => void>();
  #bytes = 0;

  constructor(limits: UnreadLimits) {
    this.#limits = limits;
    this.#clock = limits.clock ?? monotonicClock;
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
    while (this.#bytes >= this.#limits.maxBytes) {
      await this.#changed();
      const limit = this.#clock.now() - this.#limits.readMs;
      if (this.#bytes < this.#limits.maxBytes) return;
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
