/** Options of a queue. */
export interface FairQueueOptions {
  /**
   * Time in milliseconds after which no further task begins in a turn of the event loop. Tasks that wait for something
   * do not delay others. Default: one task at a time, until it ends, and one in a turn.
   */
  readonly budgetMs?: number;
  /** Returns a time in milliseconds. Default: that of the performance clock. */
  readonly now?: () => number;
}

/** Runs tasks in bounded parts of turns of the event loop, so that it stays responsive. Groups take turns. */
export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #waiting = new Map<string, Set<() => Promise<void>>>();
  #isRunning = false;

  constructor(options: FairQueueOptions = {}) {
    this.#options = options;
  }

  /** Returns the result of a task. Rejects with the reason of the signal if that is aborted before the task begins. */
  run<T>(group: string, signal: AbortSignal, task: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const begin = async (): Promise<void> => {
        signal.removeEventListener("abort", giveUp);
        try {
          resolve(await task());
        } catch (error) {
          reject(error as Error);
        }
      };
      const giveUp = (): void => {
        this.#delete(group, begin);
        reject(signal.reason as Error);
      };
      if (signal.aborted) return giveUp();
      signal.addEventListener("abort", giveUp);
      this.#waiting.set(group, (this.#waiting.get(group) ?? new Set()).add(begin));
      this.#continue();
    });
  }

  #continue(): void {
    if (this.#isRunning || this.#waiting.size === 0) return;
    this.#isRunning = true;
    setImmediate(() => {
      void this.#turn().then(() => {
        this.#isRunning = false;
        this.#continue();
      });
    });
  }

  async #turn(): Promise<void> {
    const { budgetMs, now = () => performance.now() } = this.#options;
    if (budgetMs === undefined) return this.#next()?.();
    for (const end = now() + budgetMs; now() < end;) {
      const begin = this.#next();
      if (begin === undefined) return;
      void begin();
    }
  }

  #next(): (() => Promise<void>) | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [group, tasks] = first;
    const [task] = tasks;
    this.#waiting.delete(group);
    if (task === undefined) return undefined;
    tasks.delete(task);
    // The last group in the order of turns.
    if (tasks.size > 0) this.#waiting.set(group, tasks);
    return task;
  }

  #delete(group: string, task: () => Promise<void>): void {
    const tasks = this.#waiting.get(group);
    if (tasks?.delete(task) === true && tasks.size === 0) this.#waiting.delete(group);
  }
}
