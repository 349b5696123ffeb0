import type { Clock } from "@istiod/settings";

export interface DebounceOptions {
  /** Milliseconds without another note after which to fire. */
  readonly quiet: number;
  /** Milliseconds after the first note after which to fire in any case. */
  readonly max: number;
  readonly clock: Clock;
  fire(): void;
}

/** Gathers notes into bursts and fires once for each. */
export class Debounce {
  private cancelTimer: (() => void) | undefined;
  private first = 0;
  private last = 0;

  constructor(private readonly options: DebounceOptions) {}

  note(): void {
    this.last = this.options.clock.now();
    if (this.cancelTimer !== undefined) return;
    this.first = this.last;
    this.wait();
  }

  /** Fires now, if a burst is being gathered. */
  flush(): void {
    if (this.cancelTimer === undefined) return;
    this.cancel();
    this.options.fire();
  }

  cancel(): void {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
  }

  /** One timer a burst, set again when it fires early, rather than one a note: notes can come by the thousand. */
  private wait(): void {
    const { quiet, max, clock } = this.options;
    const due = Math.min(this.last + quiet, this.first + max);
    this.cancelTimer = clock.after(Math.max(0, due - clock.now()), () => {
      if (clock.now() < Math.min(this.last + quiet, this.first + max)) {
        this.wait();
        return;
      }
      this.cancelTimer = undefined;
      this.options.fire();
    });
  }
}
