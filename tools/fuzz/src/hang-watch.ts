import { readFileSync } from "node:fs";

/** A worker at one time. Times are in milliseconds. */
export interface Progress {
  /** Number of the current input. */
  readonly cases: number;
  /** CPU time of its thread; undefined where the system does not tell it. */
  readonly cpuMs: number | undefined;
  /** Time of a monotonic clock. */
  readonly wallMs: number;
}

/** An input that waits for something may take this multiple of the time that one may compute. */
const waitFactor = 12;

/**
 * Judges whether an input takes too long: by the CPU time of the worker, since a worker on a busy machine may get no
 * processor for long. An input for which the worker waits has more time.
 */
export class HangWatch {
  readonly #hangMs: number;
  #since: Progress | undefined;

  /** @param hangMs CPU time that one input may take */
  constructor(hangMs: number) {
    this.#hangMs = hangMs;
  }

  /** Returns the reason why the current input is a fault. */
  observe(now: Progress): string | undefined {
    if (this.#since?.cases !== now.cases) {
      this.#since = now;
      return undefined;
    }
    const wallMs = now.wallMs - this.#since.wallMs;
    const cpuMs = now.cpuMs === undefined || this.#since.cpuMs === undefined ? wallMs : now.cpuMs - this.#since.cpuMs;
    if (cpuMs >= this.#hangMs) return `no answer within ${this.#hangMs} ms`;
    if (wallMs >= this.#hangMs * waitFactor) return `still waiting after ${this.#hangMs * waitFactor} ms`;
    return undefined;
  }
}

/** Returns the CPU time of a thread of this process in milliseconds; undefined where the system does not tell it. */
export function threadCpuMs(thread: number): number | undefined {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${thread}/schedstat`, "utf8").split(" ");
    return Number(nanoseconds) / 1e6;
  } catch {
    return undefined;
  }
}
