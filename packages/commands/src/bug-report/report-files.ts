import { reasonOf } from "@istiod/runtime";

/** The time that is left for a file. */
export interface ReadLimit {
  /** Aborts when the time is over. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Files of a report by path, which are collected concurrently. */
export class ReportFiles {
  readonly #files = new Map<string, string>();
  readonly #faults: string[] = [];
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #signal: AbortSignal;
  readonly #endsAt: number;

  /** @param timeoutMs time after which nothing is read any more */
  constructor(timeoutMs: number) {
    this.#signal = AbortSignal.timeout(timeoutMs);
    this.#endsAt = performance.now() + timeoutMs;
  }

  /** Adds a file. */
  add(path: string, text: string): void {
    this.#files.set(path, text);
  }

  /** Plans a file with the text that a function returns. A failure is a line of the file `errors`. */
  later(path: string, read: (limit: ReadLimit) => Promise<string>): void {
    this.#waiting.push(async () => {
      try {
        if (this.#isLate()) throw new Error("the time is over");
        const timeoutMs = Math.ceil(this.#endsAt - performance.now());
        this.add(path, await read({ signal: this.#signal, timeoutMs }));
      } catch (error) {
        this.fault(path, this.#isLate() ? "not collected in time" : reasonOf(error));
      }
    });
  }

  /** Reports whether less than a millisecond is left: timers of Node.js end up to that early, and the signal late. */
  #isLate(): boolean {
    return this.#signal.aborted || this.#endsAt - performance.now() < 1;
  }

  /** Records why a part is missing. */
  fault(path: string, reason: string): void {
    this.#faults.push(`${path}: ${reason}`);
  }

  /** Parts that are missing, with the reason. */
  get faults(): readonly string[] {
    return [...this.#faults].sort();
  }

  /**
   * Reads the planned files, and those that they plan. An empty text makes no file.
   *
   * @param concurrency files at the same time
   */
  async collect(concurrency: number): Promise<void> {
    const next = async (): Promise<void> => {
      for (let work = this.#waiting.shift(); work !== undefined; work = this.#waiting.shift()) await work();
    };
    await Promise.all(Array.from({ length: concurrency }, next));
  }

  /** The files, by path, with `errors` if there are any. */
  entries(): readonly (readonly [path: string, text: string])[] {
    const files = [...this.#files].filter(([, text]) => text !== "");
    if (this.#faults.length > 0) files.push(["errors", `${this.faults.join("\n")}\n`]);
    return files.sort(([a], [b]) => (a < b ? -1 : 1));
  }
}
