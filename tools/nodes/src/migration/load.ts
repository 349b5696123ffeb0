import { get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

export interface LoadOptions {
  readonly address: string;
  readonly host: string;
  /** The expected body. */
  readonly expected: string;
  /** Requests a second, each on a connection of its own. */
  readonly rate: number;
  /** Receives the reason of each failure. */
  readonly onFailure?: (reason: string) => void;
}

/** Requests that may wait for their answers. More are not begun, so that the rate falls instead. */
const MAX_WAITING = 300;
const TIMEOUT_MS = 30_000;

/** Requests at a steady rate, and what became of them. */
export class Load {
  readonly #options: LoadOptions;
  readonly #milliseconds: number[] = [];
  readonly #waiting = new Set<Promise<void>>();
  #failed = 0;
  #isStopped = false;

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  /** Answered requests. */
  get answered(): number {
    return this.#milliseconds.length;
  }

  get failed(): number {
    return this.#failed;
  }

  /** Sends requests until it is stopped, and waits for their answers. */
  async run(): Promise<void> {
    const started = performance.now();
    for (let sent = 0; ; sent++) {
      if (this.#waiting.size >= MAX_WAITING) await Promise.race(this.#waiting);
      const due = started + (sent * 1000) / this.#options.rate;
      const earlyMs = due - performance.now();
      if (earlyMs > 1) await sleep(earlyMs);
      if (this.#isStopped) break;
      const request = this.#send().finally(() => this.#waiting.delete(request));
      this.#waiting.add(request);
    }
    await Promise.all(this.#waiting);
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Returns the milliseconds within which a share of the answers came. */
  quantile(share: number): number {
    const sorted = this.#milliseconds.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  }

  async #send(): Promise<void> {
    const started = performance.now();
    try {
      await this.#request();
      this.#milliseconds.push(performance.now() - started);
    } catch (error) {
      this.#failed++;
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      this.#options.onFailure?.(`${error instanceof Error ? error.message : String(error)}, after ${seconds} s`);
    }
  }

  #request(): Promise<void> {
    const { address, host, expected } = this.#options;
    return new Promise((resolve, reject) => {
      const options = { host: address, headers: { host }, agent: false, timeout: TIMEOUT_MS } as const;
      const request = get(options, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("error", reject);
        response.on("end", () => {
          if (response.statusCode === 200 && text === expected) resolve();
          else reject(new Error(`status ${response.statusCode}: ${text.trim()}`));
        });
      });
      request.on("error", reject);
      request.on("timeout", () => request.destroy(new Error("no answer")));
    });
  }
}
