import type { Clock } from "../clock.js";

/** A clock that advances only when it is told to. */
export class FakeClock implements Clock {
  #now = 1_700_000_000_000;
  readonly #timers = new Set<{ readonly at: number; readonly callback: () => void }>();

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Advances the time by the given milliseconds, and fires due timers in order. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const next = [...this.#timers].sort((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > until) break;
      this.#timers.delete(next);
      this.#now = next.at;
      next.callback();
    }
    this.#now = until;
  }
}

/** Resolves after work that waits for the event loop only was done. */
export async function idle(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
}
