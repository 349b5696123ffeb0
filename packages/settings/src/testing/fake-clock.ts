import type { Clock } from "../clock.js";

/** A clock that stands still until it is advanced. */
export class FakeClock implements Clock {
  private time = 0;
  private timers: { readonly due: number; readonly callback: () => void }[] = [];

  now(): number {
    return this.time;
  }

  after(delay: number, callback: () => void): () => void {
    const timer = { due: this.time + delay, callback };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((t) => t !== timer);
    };
  }

  /** Lets some milliseconds pass, and calls back what is due, in order. */
  advance(milliseconds: number): void {
    const end = this.time + milliseconds;
    for (;;) {
      const next = this.timers.filter((t) => t.due <= end).sort((a, b) => a.due - b.due)[0];
      if (next === undefined) break;
      this.timers = this.timers.filter((t) => t !== next);
      this.time = next.due;
      next.callback();
    }
    this.time = end;
  }
}
