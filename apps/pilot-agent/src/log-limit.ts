import { type Clock, monotonicClock } from "@istiod/runtime";
import type { Log } from "./log.js";

const INTERVAL = 60_000;

/**
 * Limits the lines of one kind of event, which a stranger can cause as often as they like, to a number a minute. The
 * next line after the limit tells how many were suppressed.
 */
export class LimitedLog {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #linesPerMinute: number;
  #intervalEnd = 0;
  #lines = 0;
  #suppressed = 0;

  constructor(log: Log, clock: Clock = monotonicClock, linesPerMinute = 10) {
    this.#log = log;
    this.#clock = clock;
    this.#linesPerMinute = linesPerMinute;
  }

  write(level: "debug" | "info" | "warn" | "error", message: string): void {
    const now = this.#clock.now();
    if (now >= this.#intervalEnd) {
      this.#intervalEnd = now + INTERVAL;
      this.#lines = 0;
    }
    if (++this.#lines > this.#linesPerMinute) {
      this.#suppressed++;
      return;
    }
    const suffix = this.#suppressed === 0 ? "" : ` (${this.#suppressed} similar messages suppressed)`;
    this.#suppressed = 0;
    this.#log[level](`${message}${suffix}`);
  }
}
