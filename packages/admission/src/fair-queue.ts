/**
 * Runs tasks one after the other, each in a turn of the event loop of its own, so that requests for something else are
 * answered between them. Groups take turns.
 */
export class FairQueue {
  readonly #waiting = new Map<string, Set<() => Promise<void>>>();
  #isRunning = false;

  /** Returns the result of a task. Rejects with the reason of the signal if that is aborted before the task begins. */
  run<T>(group: string, signal: AbortSignal, task: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const begin = async (): Promise<void> => {
        signal.removeEventListener("abort", giveUp);
        await Promise.resolve().then(task).then(resolve, reject);
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
      void (this.#next()?.() ?? Promise.resolve()).then(() => {
        this.#isRunning = false;
        this.#continue();
      });
    });
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
