import type { Clock } from "../clock.js";

interface Timer {
  readonly due: number;
  readonly callback: () => void;
}

/** A clock that stands still until it is advanced. */
export class FakeClock implements Clock {
  #now: number;
  #timers: readonly Timer[] = [];

  /** @param now Initial time in milliseconds since the epoch. Default: 2023-11-14T22:13:20Z. */
  constructor(now: number | Date = 1_700_000_000_000) {
    this.#now = Number(now);
  }

  now(): number {
    return this.#now;
  }

  after(delay: number, callback: () => void): () => void {
    const timer = { due: this.#now + Math.max(0, delay), callback };
    this.#timers = [...this.#timers, timer];
    return () => this.#remove(timer);
  }

  /** Milliseconds until each pending timer, soonest first. */
  get pending(): number[] {
    return this.#timers.map(({ due }) => due - this.#now).sort((a, b) => a - b);
  }

  /** Advances the time by the given milliseconds and calls back the due timers in order. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds;
    while (this.#callNext(end));
    this.#now = end;
  }

  /** Advances the time like `advance`, and lets promises settle before each timer. */
  async advanceSettled(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds;
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.#callNext(end));
    this.#now = end;
  }

  /** Advances to the next timer and calls it back. Returns false if none is due until the given time. */
  #callNext(end: number): boolean {
    const [next] = this.#timers.filter(({ due }) => due <= end).sort((a, b) => a.due - b.due);
    if (next === undefined) return false;
    this.#remove(next);
    this.#now = Math.max(this.#now, next.due);
    next.callback();
    return true;
  }

  #remove(timer: Timer): void {
    this.#timers = this.#timers.filter((other) => other !== timer);
  }
}
