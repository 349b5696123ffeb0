/** Bytes that callers may hold at the same time. */
export interface BudgetOptions {
  readonly total: number;
  readonly perCaller: number;
}

/** A budget of bytes with a limit for each caller. */
export class SharedBudget {
  readonly #options: BudgetOptions;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  /** Takes bytes. Returns false if that would exceed a limit. */
  take(caller: string, bytes: number): boolean {
    const held = (this.#held.get(caller) ?? 0) + bytes;
    if (held > this.#options.perCaller || this.#total + bytes > this.#options.total) return false;
    this.#held.set(caller, held);
    this.#total += bytes;
    return true;
  }

  /** Gives bytes back. */
  give(caller: string, bytes: number): void {
    const held = (this.#held.get(caller) ?? 0) - bytes;
    if (held > 0) this.#held.set(caller, held);
    else this.#held.delete(caller);
    this.#total -= bytes;
  }
}
