import { ApiError } from "@istiod/kubernetes";

const MIN_DELAY = 50;
const MAX_DELAY = 5000;

/** Calls a function for keys, one at a time, once for all additions before the call. Failed keys are repeated. */
export class WorkQueue {
  readonly #keys = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #isRunning = false;
  #isStopped = false;

  constructor(
    readonly reconcile: (key: string) => Promise<void>,
    readonly onError: (error: unknown) => void,
  ) {}

  add(key: string): void {
    if (this.#isStopped) return;
    this.#keys.add(key);
    if (!this.#isRunning) void this.#run();
  }

  addAfter(key: string, delayMs: number): void {
    if (this.#isStopped) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.add(key);
    }, delayMs);
    this.#timers.add(timer);
  }

  stop(): void {
    this.#isStopped = true;
    this.#keys.clear();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // Events of the same turn are handled together.
    await Promise.resolve();
    for (const key of this.#keys) {
      this.#keys.delete(key);
      try {
        await this.reconcile(key);
        this.#failures.delete(key);
      } catch (error) {
        if (this.#isStopped) break;
        const failures = this.#failures.get(key) ?? 0;
        this.#failures.set(key, failures + 1);
        if (!isExpected(error)) this.onError(error);
        this.addAfter(key, Math.min(MIN_DELAY * 2 ** failures, MAX_DELAY));
      }
    }
    this.#isRunning = false;
  }
}

/** Conflicts and objects that are gone come from reading a store that is a moment behind. */
function isExpected(error: unknown): boolean {
  return error instanceof ApiError && (error.code === "conflict" || error.code === "not-found");
}
