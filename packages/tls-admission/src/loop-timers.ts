import type { Clock } from "@istiod/runtime";

const tickMs = 1000;
/** Callbacks in a turn of the event loop. One that closes a connection takes about 0.1 ms. */
const callsPerTurn = 64;

/**
 * Timeouts of clients, with a resolution of a second. They count the seconds in which the event loop runs: while it is
 * blocked, clients may have sent bytes that were not read yet, and no client must be disconnected for that.
 */
export class LoopTimers {
  readonly #clock: Clock;
  readonly #due = new Map<number, Set<() => void>>();
  #tick = 0;
  #isRunning = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `callback` once after at least `delayMs`. Returns a function that cancels the call. */
  after(delayMs: number, callback: () => void): () => void {
    // The current second has begun already.
    const tick = this.#tick + Math.ceil(delayMs / tickMs) + 1;
    const callbacks = this.#due.get(tick) ?? new Set();
    // Distinct even if the same function is passed twice.
    const own = (): void => callback();
    this.#due.set(tick, callbacks.add(own));
    this.#run();
    return () => {
      if (callbacks.delete(own) && callbacks.size === 0) this.#due.delete(tick);
    };
  }

  #run(): void {
    if (this.#isRunning || this.#due.size === 0) return;
    this.#isRunning = true;
    this.#clock.after(tickMs, () => {
      this.#isRunning = false;
      const callbacks = this.#due.get(++this.#tick);
      this.#due.delete(this.#tick);
      if (callbacks !== undefined) call(callbacks);
      this.#run();
    });
  }
}

/** Calls and removes all callbacks, a few in each turn of the event loop. */
function call(callbacks: Set<() => void>): void {
  let calls = 0;
  for (const callback of callbacks) {
    if (++calls > callsPerTurn) {
      setImmediate(() => call(callbacks));
      return;
    }
    callbacks.delete(callback);
    callback();
  }
}
