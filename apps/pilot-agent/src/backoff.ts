/** Exponential backoff with a jitter of ±50 %, so that a fleet does not retry in step. Times are in milliseconds. */
export class Backoff {
  readonly #initial: number;
  readonly #max: number;
  readonly #random: () => number;
  #next: number;

  /** @param random returns numbers from 0 to 1 */
  constructor(initial = 500, max = 30_000, random: () => number = Math.random) {
    this.#initial = initial;
    this.#max = max;
    this.#random = random;
    this.#next = initial;
  }

  /** Returns the next wait. */
  next(): number {
    const wait = this.#next * (0.5 + this.#random());
    this.#next = Math.min(this.#next * 2, this.#max);
    return wait;
  }

  /** Restores the initial wait, after a success. */
  reset(): void {
    this.#next = this.#initial;
  }
}
