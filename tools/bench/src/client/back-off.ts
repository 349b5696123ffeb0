const firstMs = 500;
const mostMs = 30_000;

/** Envoy's waits before it connects again: random within a window that doubles from half a second to half a minute. */
export class BackOff {
  readonly #random: () => number;
  #windowMs = firstMs;

  /** @param random from 0 to below 1 */
  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Milliseconds to wait, after one more failure. */
  next(): number {
    const wait = this.#random() * this.#windowMs;
    this.#windowMs = Math.min(this.#windowMs * 2, mostMs);
    return wait;
  }

  /** A server answered. */
  reset(): void {
    this.#windowMs = firstMs;
  }
}
