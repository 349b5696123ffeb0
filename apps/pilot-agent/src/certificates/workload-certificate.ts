import { Backoff, type Clock, reasonOf, systemClock } from "@istiod/runtime";
import { AgentError } from "../errors.js";
import { LimitedLog } from "@istiod/logging";
import { type Log, silentLog } from "../log.js";

/** A workload's private key and issued certificate; PEM. */
export interface IssuedCertificate {
  readonly key: string;
  /** The leaf and intermediates. */
  readonly chain: string;
  readonly roots: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
}

export interface WorkloadCertificateOptions {
  /** Generates a key and requests a certificate for it. */
  readonly issue: () => Promise<IssuedCertificate>;
  /** Fraction of a certificate's lifetime that remains at renewal. Default: 0.5 (SECRET_GRACE_PERIOD_RATIO). */
  readonly graceRatio?: number;
  /** Jitter of that fraction, up or down. Default: 0.01 (SECRET_GRACE_PERIOD_RATIO_JITTER). */
  readonly graceJitter?: number;
  readonly clock?: Clock;
  /** Numbers from 0 to 1. Default: Math.random. */
  readonly random?: () => number;
  readonly log?: Log;
}

/** Milliseconds. A longer delay that an authority asks for is cut. */
const MAX_RETRY_DELAY = 30_000;

/**
 * The workload's certificate, requested on start and rotated with a new key at about half its lifetime. Failed requests
 * are retried with backoff, and the current certificate stays active meanwhile. Failures near its expiry are errors.
 */
export class WorkloadCertificate {
  readonly #options: WorkloadCertificateOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #backoff: Backoff;
  readonly #listeners = new Set<(certificate: IssuedCertificate) => void>();
  readonly #urgentLog: LimitedLog;
  #current: IssuedCertificate | undefined;
  /** Remaining lifetime in milliseconds below which failures are errors. */
  #urgent = 0;
  #cancel: (() => void) | undefined;
  /** Time of the next request; undefined during a request. Milliseconds since the epoch. */
  #next: number | undefined;
  /** Time of a renewal that was asked for during a request, which may not have its reason yet. */
  #early = Infinity;
  #state: "idle" | "running" | "stopped" = "idle";

  constructor(options: WorkloadCertificateOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLog;
    this.#urgentLog = new LimitedLog(this.#log, this.#clock, 1);
    this.#backoff = new Backoff({ maxMs: MAX_RETRY_DELAY, ...(options.random && { random: options.random }) });
  }

  /** The current certificate; `undefined` until the first is issued. */
  get current(): IssuedCertificate | undefined {
    return this.#current;
  }

  /** Requests the first certificate. */
  start(): void {
    if (this.#state !== "idle") return;
    this.#state = "running";
    void this.#renew();
  }

  stop(): void {
    this.#state = "stopped";
    this.#cancel?.();
    this.#listeners.clear();
  }

  /** Calls `listener` with the current certificate, if any, and with each new one. @returns stops the watch */
  watch(listener: (certificate: IssuedCertificate) => void): () => void {
    this.#listeners.add(listener);
    if (this.#current) listener(this.#current);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Renews the current certificate, if any, at a random time within this many milliseconds, or earlier if a renewal is
   * due before.
   */
  renewWithin(milliseconds: number): void {
    if (this.#state !== "running" || !this.#current) return;
    const { random = Math.random } = this.#options;
    const wait = milliseconds * random();
    const at = this.#clock.now() + wait;
    if (this.#next === undefined) this.#early = Math.min(this.#early, at);
    else if (at < this.#next) this.#renewAfter(wait);
  }

  #renewAfter(milliseconds: number): void {
    this.#cancel?.();
    this.#next = this.#clock.now() + milliseconds;
    this.#cancel = this.#clock.after(milliseconds, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    this.#next = undefined;
    let wait: number;
    try {
      const issued = await this.#options.issue();
      if (this.#state === "stopped") return;
      wait = Math.min(Math.max(this.#untilRenewal(issued), 1000), Math.max(this.#early - this.#clock.now(), 0));
      this.#backoff.reset();
      this.#current = issued;
      this.#urgent = (issued.notAfter - this.#clock.now() - wait) / 2;
      this.#log.info(
        { expires: new Date(issued.notAfter).toISOString(), renewInSeconds: Math.round(wait / 1000) },
        "generated new workload certificate",
      );
      for (const listener of [...this.#listeners]) listener(issued);
    } catch (error) {
      const asked = error instanceof AgentError ? (error.retryAfter ?? 0) : 0;
      wait = Math.max(this.#backoff.next(), Math.min(asked, MAX_RETRY_DELAY));
      this.#logFailure(reasonOf(error), wait);
    }
    if ((this.#state as string) === "stopped") return;
    this.#early = Infinity;
    this.#renewAfter(wait);
  }

  /** Logs a failure; as an error, once a minute, when half of the time for retries is over. */
  #logFailure(reason: string, wait: number): void {
    const retryInSeconds = Math.round(wait / 100) / 10;
    const current = this.#current;
    const remaining = current && current.notAfter - this.#clock.now();
    if (current === undefined || remaining === undefined || remaining > this.#urgent)
      return this.#log.warn({ retryInSeconds }, `failed to get certificate: ${reason}`);
    const expiry =
      remaining > 0
        ? `expires in ${Math.round(remaining / 1000)} s`
        : `expired at ${new Date(current.notAfter).toISOString()}`;
    this.#urgentLog.write("error", `workload certificate ${expiry} and cannot be renewed: ${reason}`);
  }

  #untilRenewal({ notAfter }: IssuedCertificate): number {
    const { graceRatio = 0.5, graceJitter = 0.01, random = Math.random } = this.#options;
    const ratio = Math.min(Math.max(graceRatio + graceJitter * (2 * random() - 1), 0), 1);
    return (notAfter - this.#clock.now()) * (1 - ratio);
  }
}
