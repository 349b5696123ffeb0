import type { Clock } from "@istiod/runtime";
import { ApiError } from "../api-error.js";
import type { ApiClient, ApiRequest } from "../client/api-client.js";
import { GuardedRequest } from "./guarded-request.js";

/** A time by the monotonic clock and by the date. */
export interface Instant {
  readonly monotonic: number;
  readonly date: number;
}

/** One term of a leader: the time from acquiring a lock until it may be lost. */
export interface Leadership {
  /** Number of changes of the lock's holder. Larger than in all terms of earlier holders. */
  readonly transitions: number;
  /** Aborted when the term ends. */
  readonly signal: AbortSignal;
  /** Reports whether the lock is held for certain at this moment. */
  isHeld(): boolean;
  /**
   * Returns a client whose requests fail with `fenced` once the lock may be lost. Requests in flight at that time are
   * aborted; of these, a write may have been executed.
   */
  fenced(client: ApiClient): ApiClient;
}

export interface TermOptions {
  readonly lock: string;
  readonly transitions: number;
  readonly clock: Clock;
  readonly dates: Clock;
  /** Milliseconds after a renewal until the lock may be lost. */
  readonly renewDeadlineMs: number;
  /** Milliseconds for which a write without an answer may still be executed. */
  readonly uncertaintyMs: number;
  /** Called once, when the term ends. */
  readonly onEnd: () => void;
}

/** A term, as the election controls it. */
export class Term implements Leadership {
  readonly transitions: number;
  readonly #options: TermOptions;
  readonly #ended = new AbortController();
  readonly #inFlight = new Set<GuardedRequest>();
  #renewed: Instant;
  #uncertainUntil = -Infinity;
  #cancel: () => void;
  #onIdle: (() => void) | undefined;

  /** @param renewed time before the request that acquired the lock was sent */
  constructor(renewed: Instant, options: TermOptions) {
    this.#options = options;
    this.#renewed = renewed;
    this.transitions = options.transitions;
    this.#cancel = this.#schedule();
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  isHeld(): boolean {
    return !this.signal.aborted && !this.#isExpired();
  }

  fenced(client: ApiClient): ApiClient {
    return {
      server: client.server,
      send: async (request) => this.#guard(request).send(client),
      json: async <T>(request: ApiRequest) => this.#guard(request).json<T>(client),
      close: () => client.close(),
    };
  }

  /** Extends the term. @param renewed time before the successful request was sent */
  renew(renewed: Instant): void {
    if (!this.isHeld()) return this.end();
    this.#renewed = renewed;
    this.#cancel();
    this.#cancel = this.#schedule();
  }

  /** Ends the term, and aborts all requests in flight. */
  end(): void {
    this.#cancel();
    this.#close();
    for (const request of [...this.#inFlight]) request.abort();
  }

  /**
   * Ends the term, but lets writes in flight finish until the lock may be lost.
   *
   * @returns true if the lock is still held and no write can be executed any more, so that it may be released
   */
  async drain(): Promise<boolean> {
    this.#close();
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      for (const request of [...this.#inFlight]) if (!request.isWrite) request.abort();
      this.#checkIdle();
    });
    this.#cancel();
    return !this.#isExpired() && this.#options.clock.now() >= this.#uncertainUntil;
  }

  #close(): void {
    if (this.signal.aborted) return;
    this.#ended.abort(this.#error());
    this.#options.onEnd();
  }

  #schedule(): () => void {
    const { clock, renewDeadlineMs } = this.#options;
    return clock.after(this.#renewed.monotonic + renewDeadlineMs - clock.now(), () => this.end());
  }

  /** The monotonic clock may stop while a machine is suspended; the date may be corrected. The earlier one counts. */
  #isExpired(): boolean {
    const { clock, dates, renewDeadlineMs } = this.#options;
    const { monotonic, date } = this.#renewed;
    return clock.now() - monotonic >= renewDeadlineMs || dates.now() - date >= renewDeadlineMs;
  }

  #guard(request: ApiRequest): GuardedRequest {
    if (!this.isHeld()) {
      // The timer of the deadline may be late, for example after the machine was suspended.
      if (this.#isExpired()) this.end();
      throw this.#error(request);
    }
    const guarded = new GuardedRequest(request, {
      check: (waiting) => this.#check(waiting),
      error: (aborted, cause) => this.#error(aborted, cause),
      onUncertain: () => this.#markUncertain(),
      onSettled: (settled) => {
        this.#inFlight.delete(settled);
        this.#checkIdle();
      },
    });
    this.#inFlight.add(guarded);
    return guarded;
  }

  /** Rejects a request that has waited beyond the deadline. A term that is being drained lets its writes proceed. */
  #check(request: ApiRequest): void {
    if (!this.#isExpired()) return;
    this.end();
    throw this.#error(request);
  }

  #checkIdle(): void {
    if (![...this.#inFlight].some(({ isWrite }) => isWrite)) this.#onIdle?.();
  }

  #markUncertain(): void {
    this.#uncertainUntil = this.#options.clock.now() + this.#options.uncertaintyMs;
  }

  #error(request?: ApiRequest, cause?: unknown): ApiError {
    const subject = request ? `${request.method ?? "GET"} ${request.path}: ` : "";
    return new ApiError("fenced", `${subject}the lock ${this.#options.lock} is lost or may be`, { cause });
  }
}
