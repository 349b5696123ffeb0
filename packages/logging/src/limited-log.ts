import { type Clock, LineBudget, monotonicClock } from "@istiod/runtime";
import type { Logger } from "pino";

const intervalMs = 60_000;

/**
 * Limits the lines of one kind of event, which a stranger can cause as often as they like, to a number a minute. The
 * next line after the limit tells how many were suppressed.
 */
export class LimitedLog {
  readonly #log: Pick<Logger, "debug" | "info" | "warn" | "error">;
  readonly #budget: LineBudget;

  constructor(
    log: Pick<Logger, "debug" | "info" | "warn" | "error">,
    clock: Clock = monotonicClock,
    linesPerMinute = 10,
  ) {
    this.#log = log;
    this.#budget = new LineBudget(clock, { burst: linesPerMinute, intervalMs: intervalMs / linesPerMinute });
  }

  write(level: "debug" | "info" | "warn" | "error", message: string): void {
    const more = this.#budget.take();
    if (more === undefined) return;
    const suffix = more.suppressed === undefined ? "" : ` (${more.suppressed} similar messages suppressed)`;
    this.#log[level](`${message}${suffix}`);
  }
}
