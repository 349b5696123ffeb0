import type { Clock } from "./clock.js";

/** Rate of log lines. */
export interface LineRate {
  /** Lines that may be written at once. Default: 20. */
  readonly burst?: number;
  /** Milliseconds after which another may be written. Default: 10,000. */
  readonly intervalMs?: number;
}

/** Limits the log lines about one client: a number at once, then one in each interval. */
export class LineBudget {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #intervalMs: number;
  #available: number;
  #countedAt: number;
  #suppressed = 0;

  constructor(clock: Clock, { burst = 20, intervalMs = 10_000 }: LineRate = {}) {
    this.#clock = clock;
    this.#burst = burst;
    this.#intervalMs = intervalMs;
    this.#available = burst;
    this.#countedAt = clock.now();
  }

  /** Lines that were not logged since the last one that was. */
  get suppressed(): number {
    return this.#suppressed;
  }

  /**
   * Returns the fields to add to the next line: the number of lines that were suppressed before it, if any. Returns
   * undefined if the line must not be logged.
   */
  take(): { readonly suppressed?: number } | undefined {
    const now = this.#clock.now();
    const intervals = Math.floor((now - this.#countedAt) / this.#intervalMs);
    this.#available = Math.min(this.#burst, this.#available + intervals);
    // Time in which the budget was whole does not count for later lines.
    this.#countedAt = this.#available === this.#burst ? now : this.#countedAt + intervals * this.#intervalMs;
    if (this.#available === 0) {
      this.#suppressed++;
      return undefined;
    }
    this.#available--;
    const suppressed = this.#suppressed;
    this.#suppressed = 0;
    return suppressed === 0 ? {} : { suppressed };
  }
}

/** Line budgets by client, for the clients that were logged most recently. */
export class LineBudgets {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #budgets = new Map<string, LineBudget>();

  /** @param max number of budgets that are kept */
  constructor(clock: Clock, max = 4096) {
    this.#clock = clock;
    this.#max = max;
  }

  of(client: string): LineBudget {
    let budget = this.#budgets.get(client);
    if (budget === undefined) budget = new LineBudget(this.#clock);
    else this.#budgets.delete(client);
    this.#budgets.set(client, budget);
    for (const oldest of this.#budgets.keys()) {
      if (this.#budgets.size <= this.#max) break;
      this.#budgets.delete(oldest);
    }
    return budget;
  }

  /** Removes the budget of a client. Returns the number of lines that it suppressed since its last line. */
  delete(client: string): number {
    const suppressed = this.#budgets.get(client)?.suppressed ?? 0;
    this.#budgets.delete(client);
    return suppressed;
  }
}

/** Returns the beginning of a text from outside. */
export function shortened(text: string, maxLength = 1024): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}… (${text.length} characters)`;
}
