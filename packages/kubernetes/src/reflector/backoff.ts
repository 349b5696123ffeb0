const initialMs = 500;
const maximumMs = 30_000;

/** Exponential delays between attempts, each between half and the whole of its step. */
export class Backoff {
  readonly #random: () => number;
  #stepMs = initialMs;

  /** @param random returns a number from 0 to 1 */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** Returns the delay until the next attempt in milliseconds, not less than the server asked for. */
  next(retryAfterMs = 0): number {
    const delay = this.#stepMs * (0.5 + this.#random() / 2);
    this.#stepMs = Math.min(this.#stepMs * 2, maximumMs);
    return Math.max(delay, retryAfterMs);
  }

  reset(): void {
    this.#stepMs = initialMs;
  }
}
