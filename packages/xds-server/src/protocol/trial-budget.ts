import type { TrialShare } from "../limits/trial-pool.js";

/** Responses that may be sent in a window without a success. */
const maxResponses = 32;
const minWindowMs = 30_000;
const maxWindowMs = 600_000;

/**
 * Limits the responses that find the invalid resources of rejected ones. Accepted responses are progress and cost
 * nothing, so that many invalid resources are found among more valid ones. A client that rejects everything uses up one
 * window after the other, each twice as long as the one before.
 */
export class TrialBudget {
  readonly #share: TrialShare;
  #used = 0;
  /** Rejected responses in a row. */
  #failures = 0;
  #windowMs = minWindowMs;
  #windowEnd = 0;
  #succeeded = false;

  /** @param share the part of this stream in what all streams may send */
  constructor(share: TrialShare) {
    this.#share = share;
  }

  /** Reports whether a response may be sent. */
  allows(now: number): boolean {
    return this.#used < maxResponses || now >= this.#windowEnd;
  }

  /** Time from which a response may be sent, if it may not be sent now. */
  get allowedAt(): number {
    return this.#windowEnd;
  }

  /** Reports whether all streams together leave room for a response. If not, the stream is woken when they do. */
  get hasRoom(): boolean {
    return this.#share.admits(this.#failures);
  }

  /** Counts a response that is sent. */
  use(now: number): void {
    this.#share.used(this.#failures);
    if (now >= this.#windowEnd) this.#begin(now);
    this.#used++;
  }

  /** Counts an accepted response. It pays for itself, and for the rejected ones that it was split from. */
  succeeded(): void {
    this.#succeeded = true;
    this.#failures = 0;
    this.#share.succeeded();
    this.#used = Math.max(-maxResponses, this.#used - 3);
  }

  /** Counts a rejected response. */
  failed(): void {
    this.#failures++;
  }

  #begin(now: number): void {
    const wasUsedUp = this.#used >= maxResponses && !this.#succeeded;
    this.#windowMs = wasUsedUp ? Math.min(this.#windowMs * 2, maxWindowMs) : minWindowMs;
    this.#windowEnd = now + this.#windowMs;
    this.#used = 0;
    this.#succeeded = false;
  }
}
