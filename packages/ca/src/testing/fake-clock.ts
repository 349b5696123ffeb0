import type { Clock } from "../clock.js";

interface Alarm {
  readonly at: number;
  readonly action: () => void;
}

/** A clock that stands still until it is told to advance. */
export class FakeClock implements Clock {
  #now: number;
  #alarms: Alarm[] = [];

  constructor(now: number | Date = Date.now()) {
    this.#now = Number(now);
  }

  now(): number {
    return this.#now;
  }

  after(delay: number, action: () => void): () => void {
    const alarm = { at: this.#now + Math.max(0, delay), action };
    this.#alarms.push(alarm);
    return () => {
      this.#alarms = this.#alarms.filter((other) => other !== alarm);
    };
  }

  /** Milliseconds until each pending alarm, soonest first. */
  get pending(): number[] {
    return this.#alarms.map((alarm) => alarm.at - this.#now).sort((a, b) => a - b);
  }

  /** Moves time forward, ringing every alarm that falls due in order of its time. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds;
    for (;;) {
      const next = this.#alarms.filter((alarm) => alarm.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#alarms = this.#alarms.filter((alarm) => alarm !== next);
      this.#now = Math.max(this.#now, next.at);
      next.action();
    }
    this.#now = end;
  }
}
