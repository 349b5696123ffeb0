/**
 * Waits between attempts, in milliseconds: doubled each time up to a limit, each spread by a half so that a fleet does
 * not retry in step.
 */
export class Backoff {
  readonly #first: number;
  readonly #longest: number;
  readonly #random: () => number;
  #next: number;

  /** @param random gives numbers from 0 to 1 */
  constructor(first = 500, longest = 30_000, random: () => number = Math.random) {
    this.#first = first;
    this.#longest = longest;
    this.#random = random;
    this.#next = first;
  }

  /** How long to wait now. */
  next(): number {
    const wait = this.#next * (0.5 + this.#random());
    this.#next = Math.min(this.#next * 2, this.#longest);
    return wait;
  }

  /** Begins anew after a success. */
  reset(): void {
    this.#next = this.#first;
  }
}
