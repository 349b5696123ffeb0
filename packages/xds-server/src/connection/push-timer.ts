import type { Clock } from "@istiod/runtime";

/** The size of a finished push, and the time since the first change that it covers. */
export interface PushSummary {
  readonly responses: number;
  readonly bytes: number;
  readonly sinceMs: number;
}

/**
 * Measures pushes to one stream: from the first change, through the queue, until every due response was handed to the
 * transport.
 */
export class PushTimer {
  readonly #clock: Clock;
  #queuedAt: number | undefined;
  #current: { readonly since: number; responses: number; bytes: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A change marked the stream. */
  queued(): void {
    this.#queuedAt ??= this.#clock.now();
  }

  /**
   * The push starts or continues. Returns the milliseconds since the first queued change; undefined if none was queued.
   */
  started(): number | undefined {
    if (this.#queuedAt === undefined) return undefined;
    const since = this.#queuedAt;
    this.#queuedAt = undefined;
    this.#current ??= { since, responses: 0, bytes: 0 };
    return this.#clock.now() - since;
  }

  /** A response was handed to the transport because of a change. */
  sent(bytes: number): void {
    if (this.#current === undefined) return;
    this.#current.responses++;
    this.#current.bytes += bytes;
  }

  /** Nothing is due any more. Returns a summary of the push unless it sent nothing. */
  finished(): PushSummary | undefined {
    const current = this.#current;
    this.#current = undefined;
    if (current === undefined || current.responses === 0) return undefined;
    const { since, responses, bytes } = current;
    return { responses, bytes, sinceMs: this.#clock.now() - since };
  }
}
