/** Range of the delays between attempts, in milliseconds. */
export interface BackoffRange {
  /** Delay after the first attempt. Default: 500. */
  readonly initialMs?: number;
  /** Maximum, which doubling ends at. Default: 30,000. */
  readonly maxMs?: number;
}

export interface BackoffOptions extends BackoffRange {
  /** Returns a number from 0 to 1. Default: `Math.random`. */
  readonly random?: () => number;
}

/**
 * Returns the delay in milliseconds after a number of attempts that failed in a row, at least 1. It doubles with each
 * of them and is spread over the upper half of that, so that clients which failed together do not return together.
 */
export function backoffDelay(
  attempts: number,
  { initialMs = 500, maxMs = 30_000, random = Math.random }: BackoffOptions = {},
): number {
  return Math.min(initialMs * 2 ** (attempts - 1), maxMs) * (0.5 + random() / 2);
}

/** Counts attempts that failed in a row and returns the delays between them. */
export class Backoff {
  readonly #options: BackoffOptions;
  #attempts = 0;

  constructor(options: BackoffOptions = {}) {
    this.#options = options;
  }

  /** Returns the delay until the next attempt in milliseconds. @param atLeastMs what the other side asked for */
  next(atLeastMs = 0): number {
    return Math.max(backoffDelay(++this.#attempts, this.#options), atLeastMs);
  }

  /** Starts again with the initial delay, after a success. */
  reset(): void {
    this.#attempts = 0;
  }
}
