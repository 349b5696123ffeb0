import type { Clock } from "@istiod/runtime";

export interface DebounceOptions {
  /** Milliseconds without a further trigger after which to fire. */
  readonly quiet: number;
  /** Milliseconds after the first trigger after which to fire in any case. */
  readonly max: number;
  readonly clock: Clock;
  fire(): void;
}

/** Coalesces triggers into bursts, and fires once for each burst. */
export class Debounce {
  readonly #options: DebounceOptions;
  #cancelTimer: (() => void) | undefined;
  #firstTrigger = 0;
  #lastTrigger = 0;

  constructor(options: DebounceOptions) {
    this.#options = options;
  }

  /** Begins a burst, or extends the current one. */
  trigger(): void {
    this.#lastTrigger = this.#options.clock.now();
    if (this.#cancelTimer !== undefined) return;
    this.#firstTrigger = this.#lastTrigger;
    this.#startTimer();
  }

  /** Fires now if a burst has begun. */
  flush(): void {
    if (this.#cancelTimer === undefined) return;
    this.cancel();
    this.#options.fire();
  }

  /** Discards the current burst without firing. */
  cancel(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Starts one timer for a burst, which restarts if it expires early: triggers can come by the thousand. */
  #startTimer(): void {
    const { clock } = this.#options;
    this.#cancelTimer = clock.after(Math.max(0, this.#dueTime() - clock.now()), () => {
      if (clock.now() < this.#dueTime()) {
        this.#startTimer();
        return;
      }
      this.#cancelTimer = undefined;
      this.#options.fire();
    });
  }

  #dueTime(): number {
    const { quiet, max } = this.#options;
    return Math.min(this.#lastTrigger + quiet, this.#firstTrigger + max);
  }
}
