import type { Clock } from "@istiod/runtime";

/** Calls a function at one time, which may change: when resources of rejected responses are to be sent again. */
export class RetryTimer {
  readonly #clock: Clock;
  readonly #retry: () => void;
  #next: { readonly at: number; readonly cancel: () => void } | undefined;

  constructor(clock: Clock, retry: () => void) {
    this.#clock = clock;
    this.#retry = retry;
  }

  /** @param at milliseconds since the epoch; Infinity for never */
  schedule(at: number): void {
    if (at === (this.#next?.at ?? Infinity)) return;
    this.cancel();
    if (at === Infinity) return;
    const cancel = this.#clock.after(at - this.#clock.now(), () => {
      this.#next = undefined;
      this.#retry();
    });
    this.#next = { at, cancel };
  }

  cancel(): void {
    this.#next?.cancel();
    this.#next = undefined;
  }
}
