/** Limits of a fair queue. */
export interface FairQueueOptions {
  /** Maximum number of waiting entries. */
  readonly capacity: number;
  /** Maximum number of entries in progress. */
  readonly concurrency: number;
}

interface Entry {
  readonly run: () => Promise<void>;
  readonly rejected: () => void;
}

/**
 * A bounded queue that serves its callers in turn. When it is full, the newest entry of the caller with the most
 * entries is rejected, so that no caller can displace the entries of callers with fewer.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  /** Entries by caller. The first caller is next. */
  readonly #waiting = new Map<string, Entry[]>();
  #length = 0;
  #running = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  /** Number of waiting entries. */
  get length(): number {
    return this.#length;
  }

  /**
   * Adds an entry. Exactly one of the functions is called.
   *
   * @param run must not reject
   * @param rejected called if the queue is full, at once or when callers with fewer entries need the room
   */
  push(caller: string, run: () => Promise<void>, rejected: () => void): void {
    if (this.#running < this.#options.concurrency && this.#length === 0) return this.#start(run);
    const own = this.#waiting.get(caller);
    if (this.#length >= this.#options.capacity && !this.#makeRoom(own?.length ?? 0)) return rejected();
    if (own === undefined) this.#waiting.set(caller, [{ run, rejected }]);
    else own.push({ run, rejected });
    this.#length++;
  }

  /** Rejects the newest entry of the caller with the most entries, if these are more than `own` and another. */
  #makeRoom(own: number): boolean {
    let [largest, entries]: [string, readonly Entry[]] = ["", []];
    for (const [caller, each] of this.#waiting) if (each.length > entries.length) [largest, entries] = [caller, each];
    if (entries.length <= own + 1) return false;
    const last = this.#waiting.get(largest)?.pop();
    this.#length--;
    last?.rejected();
    return true;
  }

  #start(run: () => Promise<void>): void {
    this.#running++;
    void run().finally(() => {
      this.#running--;
      this.#next();
    });
  }

  #next(): void {
    for (const [caller, entries] of this.#waiting) {
      const entry = entries.shift();
      this.#waiting.delete(caller);
      if (entry === undefined) continue;
      if (entries.length > 0) this.#waiting.set(caller, entries);
      this.#length--;
      return this.#start(entry.run);
    }
  }
}
