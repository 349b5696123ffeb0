import type { Clock } from "@istiod/runtime";

/** A stream that the queue pushes to. */
export interface PushTarget {
  /** Sends due responses until there are none or until the client must read first (`blocked`). */
  push(): "done" | "blocked";
  /** Bytes in flight that the transport has copied for this stream. */
  readonly copiedBytes: number;
}

export interface PushQueueOptions {
  /** Pushes that may be in progress before the next one is started. */
  readonly concurrent: number;
  /** A push that is blocked for this many milliseconds no longer counts as in progress. */
  readonly blockedLimitMs: number;
  /** No push is started while transports hold this many copied bytes. */
  readonly maxCopiedBytes: number;
  readonly clock: Clock;
}

/** Time slice after which the queue yields to the event loop. */
const sliceMs = 8;

/**
 * Schedules pushes. Each stream is queued at most once. Streams whose push is in progress come first, then streams with
 * a request, then streams with a change; within these, first in, first out. The number of pushes in progress is
 * limited, so that the first clients are complete early instead of all being late. A client that does not read stops
 * counting after a short time.
 */
export class PushQueue {
  readonly #options: PushQueueOptions;
  readonly #continuing = new Set<PushTarget>();
  readonly #requested = new Set<PushTarget>();
  readonly #changed = new Set<PushTarget>();
  /** Pushes in progress, with the time at which they were last served. */
  readonly #inProgress = new Map<PushTarget, number>();
  #scheduled = false;
  #stopTimer: (() => void) | undefined;

  constructor(options: PushQueueOptions) {
    this.#options = options;
  }

  /** Number of queued streams. */
  get length(): number {
    return this.#continuing.size + this.#requested.size + this.#changed.size;
  }

  /** Queues a stream because of a request or a change. */
  add(target: PushTarget, reason: "request" | "change"): void {
    if (this.#inProgress.has(target) || this.#requested.has(target)) return;
    if (reason === "request") {
      this.#changed.delete(target);
      this.#requested.add(target);
    } else this.#changed.add(target);
    this.#schedule();
  }

  /** Queues a stream that was blocked and can send again. */
  resume(target: PushTarget): void {
    if (this.#inProgress.has(target)) {
      this.#continuing.add(target);
      this.#schedule();
    } else this.add(target, "request");
  }

  /** Removes a stream that has ended. */
  remove(target: PushTarget): void {
    this.#continuing.delete(target);
    this.#requested.delete(target);
    this.#changed.delete(target);
    if (this.#inProgress.delete(target)) this.#schedule();
  }

  #schedule(): void {
    // While nothing can start, a client that reads or ends, or the limit of blocked pushes, schedules the next slice.
    if (this.#scheduled || this.length === 0 || (this.#continuing.size === 0 && !this.#canStart)) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#runSlice();
    });
  }

  #runSlice(): void {
    const { clock } = this.#options;
    const until = clock.now() + sliceMs;
    for (let target = this.#next(); target !== undefined; target = this.#next()) {
      this.#inProgress.set(target, clock.now());
      if (target.push() === "done") this.#inProgress.delete(target);
      if (clock.now() >= until) break;
    }
    this.#schedule();
    if (this.#inProgress.size > 0 && this.#stopTimer === undefined) this.#watchBlocked();
  }

  #next(): PushTarget | undefined {
    const queues = this.#canStart ? [this.#continuing, this.#requested, this.#changed] : [this.#continuing];
    for (const queue of queues) {
      for (const first of queue) {
        queue.delete(first);
        return first;
      }
    }
    return undefined;
  }

  get #canStart(): boolean {
    if (this.#inProgress.size >= this.#options.concurrent) return false;
    let copied = 0;
    for (const target of this.#inProgress.keys()) copied += target.copiedBytes;
    return copied < this.#options.maxCopiedBytes;
  }

  #watchBlocked(): void {
    const { clock, blockedLimitMs } = this.#options;
    this.#stopTimer = clock.after(blockedLimitMs / 4, () => {
      this.#stopTimer = undefined;
      const limit = clock.now() - blockedLimitMs;
      for (const [target, since] of this.#inProgress) {
        if (since <= limit && !this.#continuing.has(target)) this.#inProgress.delete(target);
      }
      this.#schedule();
      if (this.#inProgress.size > 0) this.#watchBlocked();
    });
  }
}
