import { backoffDelay, type Clock } from "@istiod/runtime";

export interface WriteQueueOptions {
  /** Writes that may be in flight at once. */
  readonly concurrency: number;
  readonly clock: Clock;
  /** Returns a number from 0 to 1 that spreads delays. */
  readonly random: () => number;
  /** Brings the object of a key to its desired state. Returns the number of writes, 0 or 1. Rejects to be retried. */
  readonly process: (key: string) => Promise<number>;
}

interface Entry {
  state: "idle" | "waiting" | "queued" | "running";
  /** The key was added while it was processed. */
  isDirty: boolean;
  /** The key was deleted while it was processed, and not added since. */
  isDeleted: boolean;
  failures: number;
  /** Writes without a pause, as by two parties that undo each other's writes. */
  repeats: number;
  lastWrite: number;
  cancel: () => void;
}

const backoffRange = { initialMs: 200, maxMs: 60_000 };
/** Writes of an object in a row that are not delayed. */
const freeRepeats = 5;
/** Time without a write after which the count of repeats starts again. */
const pauseMs = 60_000;

/**
 * Processes keys, each at most once at a time. Failed keys are retried with exponential backoff for as long as they are
 * wanted, and so are keys that are written over and over.
 */
export class WriteQueue {
  readonly #options: WriteQueueOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #queue: string[] = [];
  #running = 0;
  #isStopped = false;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
  }

  /** Processes a key soon. A key that waits for a retry keeps its delay, unless `now` is set. */
  add(key: string): void {
    if (this.#isStopped) return;
    const entry = this.#entry(key);
    entry.isDeleted = false;
    if (entry.state === "running") entry.isDirty = true;
    if (entry.state !== "idle") return;
    this.#schedule(key, entry, this.#repeatDelay(entry));
  }

  /** Processes a key without the delay of earlier failures, because its write is another one now. */
  addChanged(key: string): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined && entry.failures > 0) {
      entry.failures = 0;
      if (entry.state === "waiting") {
        entry.cancel();
        entry.state = "idle";
      }
    }
    this.add(key);
  }

  /** Forgets a key that nothing is desired for any more, once it is not processed. */
  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry?.state === "running") {
      entry.isDirty = false;
      entry.isDeleted = true;
      return;
    }
    entry?.cancel();
    const at = this.#queue.indexOf(key);
    if (at >= 0) this.#queue.splice(at, 1);
    this.#entries.delete(key);
  }

  stop(): void {
    this.#isStopped = true;
    for (const { cancel } of this.#entries.values()) cancel();
    this.#queue.length = 0;
  }

  #entry(key: string): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const cancel = (): void => undefined;
    const entry: Entry = {
      state: "idle",
      isDirty: false,
      isDeleted: false,
      failures: 0,
      repeats: 0,
      lastWrite: -Infinity,
      cancel,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #repeatDelay(entry: Entry): number {
    if (this.#options.clock.now() - entry.lastWrite >= pauseMs) entry.repeats = 0;
    return entry.repeats < freeRepeats ? 0 : this.#backoff(entry.repeats - freeRepeats + 1);
  }

  #backoff(failures: number): number {
    return backoffDelay(failures, { ...backoffRange, random: this.#options.random });
  }

  #schedule(key: string, entry: Entry, delay: number): void {
    if (delay > 0) {
      entry.state = "waiting";
      entry.cancel = this.#options.clock.after(delay, () => {
        entry.state = "idle";
        this.#schedule(key, entry, 0);
      });
      return;
    }
    entry.state = "queued";
    this.#queue.push(key);
    this.#next();
  }

  #next(): void {
    while (!this.#isStopped && this.#running < this.#options.concurrency) {
      const key = this.#queue.shift();
      if (key === undefined) return;
      const entry = this.#entries.get(key);
      if (entry !== undefined) void this.#run(key, entry);
    }
  }

  async #run(key: string, entry: Entry): Promise<void> {
    const { process, clock } = this.#options;
    this.#running++;
    entry.state = "running";
    entry.isDirty = false;
    let hasFailed = false;
    try {
      const writes = await process(key);
      entry.failures = 0;
      if (writes > 0) {
        entry.repeats++;
        entry.lastWrite = clock.now();
      }
    } catch {
      hasFailed = true;
      entry.failures++;
    }
    this.#running--;
    entry.state = "idle";
    if (entry.isDeleted) this.#entries.delete(key);
    const isWanted = !entry.isDeleted && !this.#isStopped;
    if (isWanted && hasFailed) this.#schedule(key, entry, this.#backoff(entry.failures));
    else if (isWanted && entry.isDirty) this.#schedule(key, entry, this.#repeatDelay(entry));
    this.#next();
  }
}
