import type { Clock } from "../clock.js";

/** Something that has responses to send. */
export interface Pushed {
  /** Sends what the other side can take now, and says whether it is still to be waited for. */
  push(): "done" | "blocked";
  /** Bytes in flight that the transport holds a copy of for this one alone. */
  readonly copiedBytes: number;
}

export interface PushQueueOptions {
  /** How many may be blocked at the same time before the next one is begun. */
  readonly concurrent: number;
  /** One that is blocked for so many milliseconds no longer counts. */
  readonly patienceMs: number;
  /** Once transports hold so many bytes in copies, nothing is begun. */
  readonly maxCopiedBytes: number;
  readonly clock: Clock;
}

/** How long to work before others get a turn: input and timers of the whole process wait meanwhile. */
const sliceMs = 8;

/**
 * Decides whose turn it is. Each client is queued at most once. Those that are in the middle of being sent to come
 * first, then those that asked for something, then those that are only to be told of a change; otherwise the first come
 * first. A limited number is sent to at the same time, so that the first have everything early instead of all having it
 * late; one that does not read keeps its place in that number for a short while only.
 */
export class PushQueue {
  readonly #options: PushQueueOptions;
  readonly #continuing = new Set<Pushed>();
  readonly #asking = new Set<Pushed>();
  readonly #waiting = new Set<Pushed>();
  /** Those that are being sent to, and since when they are blocked. */
  readonly #begun = new Map<Pushed, number>();
  #scheduled = false;
  #stopTimer: (() => void) | undefined;

  constructor(options: PushQueueOptions) {
    this.#options = options;
  }

  /** How many wait for their turn. */
  get length(): number {
    return this.#continuing.size + this.#asking.size + this.#waiting.size;
  }

  /** It has something to send, because it asked or because of a change. */
  add(pushed: Pushed, reason: "request" | "change"): void {
    if (this.#begun.has(pushed) || this.#asking.has(pushed)) return;
    if (reason === "request") {
      this.#waiting.delete(pushed);
      this.#asking.add(pushed);
    } else this.#waiting.add(pushed);
    this.#schedule();
  }

  /** It was blocked and can take more. */
  resume(pushed: Pushed): void {
    if (this.#begun.has(pushed)) {
      this.#continuing.add(pushed);
      this.#schedule();
    } else this.add(pushed, "request");
  }

  remove(pushed: Pushed): void {
    this.#continuing.delete(pushed);
    this.#asking.delete(pushed);
    this.#waiting.delete(pushed);
    if (this.#begun.delete(pushed)) this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#turn();
    });
  }

  #turn(): void {
    const { clock } = this.#options;
    const until = clock.now() + sliceMs;
    for (let pushed = this.#take(); pushed !== undefined; pushed = this.#take()) {
      this.#begun.set(pushed, clock.now());
      if (pushed.push() === "done") this.#begun.delete(pushed);
      if (clock.now() >= until) break;
    }
    this.#schedule();
    if (this.#begun.size > 0 && this.#stopTimer === undefined) this.#watchBlocked();
  }

  #take(): Pushed | undefined {
    const queues = this.#admitting ? [this.#continuing, this.#asking, this.#waiting] : [this.#continuing];
    for (const queue of queues) {
      for (const first of queue) {
        queue.delete(first);
        return first;
      }
    }
    return undefined;
  }

  get #admitting(): boolean {
    if (this.#begun.size >= this.#options.concurrent) return false;
    let copied = 0;
    for (const pushed of this.#begun.keys()) copied += pushed.copiedBytes;
    return copied < this.#options.maxCopiedBytes;
  }

  #watchBlocked(): void {
    const { clock, patienceMs } = this.#options;
    this.#stopTimer = clock.after(patienceMs / 4, () => {
      this.#stopTimer = undefined;
      const limit = clock.now() - patienceMs;
      for (const [pushed, since] of this.#begun) {
        if (since <= limit && !this.#continuing.has(pushed)) this.#begun.delete(pushed);
      }
      this.#schedule();
      if (this.#begun.size > 0) this.#watchBlocked();
    });
  }
}
