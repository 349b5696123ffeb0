import type { Clock } from "@istiod/runtime";

/** Time after which the queue yields to the event loop. */
const turnMs = 8;

/** Runs a slice of some work. Reports whether slices are left. */
export type Slice = () => boolean;

/** Runs long work in turns, one slice of each, and yields to the event loop in between. */
export class SliceQueue {
  readonly #clock: Clock;
  readonly #waiting = new Set<Slice>();
  #scheduled = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Number of pieces of work in the queue. */
  get length(): number {
    return this.#waiting.size;
  }

  /** Queues work. The slice must not throw. */
  add(work: Slice): void {
    this.#waiting.add(work);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.size === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#runTurn();
    });
  }

  #runTurn(): void {
    const until = this.#clock.now() + turnMs;
    for (const work of this.#waiting) {
      this.#waiting.delete(work);
      if (work()) this.#waiting.add(work);
      if (this.#clock.now() >= until) break;
    }
    this.#schedule();
  }
}
