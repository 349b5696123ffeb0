import type { Clock } from "@istiod/runtime";
import { ApiError } from "../api-error.js";

/** Limits the rate of requests by a token bucket. Waiting requests proceed in order. */
export class RateLimit {
  readonly #qps: number;
  readonly #burst: number;
  readonly #clock: Clock;
  /** Tokens at `#at`. Negative while requests wait. */
  #tokens: number;
  #at: number;

  /**
   * @param qps requests per second on average
   * @param burst requests that may be sent at once
   */
  constructor(qps: number, burst: number, clock: Clock) {
    if (!(qps > 0)) throw new ApiError("configuration", `qps must be greater than 0, not ${qps}`);
    if (!(burst >= 1)) throw new ApiError("configuration", `burst must be at least 1, not ${burst}`);
    this.#qps = qps;
    this.#burst = burst;
    this.#clock = clock;
    this.#tokens = burst;
    this.#at = clock.now();
  }

  /**
   * Waits until a request may be sent.
   *
   * @throws ApiError `aborted` if the signal is aborted first
   */
  async take(signal: AbortSignal): Promise<void> {
    const now = this.#clock.now();
    this.#tokens = Math.min(this.#burst, this.#tokens + (Math.max(0, now - this.#at) / 1000) * this.#qps) - 1;
    this.#at = now;
    if (this.#tokens >= 0) return;
    await this.#wait((-this.#tokens / this.#qps) * 1000, signal);
  }

  #wait(delayMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        cancel();
        this.#tokens++;
        reject(new ApiError("aborted", "request aborted while waiting for the rate limit"));
      };
      const cancel = this.#clock.after(delayMs, () => {
        signal.removeEventListener("abort", abort);
        resolve();
      });
      signal.addEventListener("abort", abort, { once: true });
    });
  }
}
