import type { Sliced } from "../sliced.js";
import type { SliceQueue } from "./slice-queue.js";

/** Receives the results of a piece of work. */
export interface WorkObserver<T> {
  /** Called after each slice but the last, with the estimated size of what the work holds, in bytes. */
  sliced(bytes: number): void;
  done(value: T): void;
  failed(error: unknown): void;
}

/**
 * The work of one stream: requests and responses, one piece at a time. A piece that its first slice does not complete
 * is continued in turns with those of other streams.
 */
export class StreamWork {
  readonly #slices: SliceQueue;
  #current: Promise<void> | undefined;
  #stopped = false;

  constructor(slices: SliceQueue) {
    this.#slices = slices;
  }

  /** Resolves when the current piece of work is complete or the stream has ended; undefined if there is none. */
  get current(): Promise<void> | undefined {
    return this.#current;
  }

  /** Runs a piece of work while there is no other. Returns undefined if it is complete. */
  run<T>(work: Sliced<T>, observer: WorkObserver<T>): Promise<void> | undefined {
    if (!this.#runSlice(work, observer)) return undefined;
    return (this.#current = new Promise((resolve) => {
      this.#slices.add(() => {
        const hasMore = this.#runSlice(work, observer);
        if (!hasMore) resolve();
        return hasMore;
      });
    }));
  }

  /** Abandons the current piece of work: the stream has ended. */
  stop(): void {
    this.#stopped = true;
  }

  /** Reports whether slices are left. */
  #runSlice<T>(work: Sliced<T>, { sliced, done, failed }: WorkObserver<T>): boolean {
    if (this.#stopped) return false;
    try {
      const { done: isDone, value } = work.next();
      if (isDone !== true) {
        sliced(value);
        return true;
      }
      this.#current = undefined;
      done(value);
    } catch (error) {
      this.#current = undefined;
      failed(error);
    }
    return false;
  }
}
