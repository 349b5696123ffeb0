import { Backoff } from "../backoff.js";
import { type Clock, systemClock } from "../clock.js";
import { reasonOf } from "../errors.js";
import { type Log, silentLog } from "../log.js";

/** A workload's key and certificate as an authority issued it; PEM. */
export interface IssuedCertificate {
  readonly key: string;
  /** The leaf and what lies between it and the root. */
  readonly chain: string;
  readonly roots: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
}

export interface WorkloadCertificateOptions {
  /** Makes a key and has it certified. */
  readonly issue: () => Promise<IssuedCertificate>;
  /** Part of its life that is left when a certificate is renewed. Default: 0.5 (SECRET_GRACE_PERIOD_RATIO). */
  readonly graceRatio?: number;
  /** By how much that part is spread up or down. Default: 0.01 (SECRET_GRACE_PERIOD_RATIO_JITTER). */
  readonly graceJitter?: number;
  readonly clock?: Clock;
  /** Numbers from 0 to 1. Default: Math.random. */
  readonly random?: () => number;
  readonly log?: Log;
}

/**
 * The workload's certificate through its lives: asked for at the start, renewed at about half its life with a new key,
 * asked for again with growing waits when that fails. While it fails, the certificate in hand stays in use.
 */
export class WorkloadCertificate {
  readonly #options: WorkloadCertificateOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #backoff: Backoff;
  readonly #listeners = new Set<(certificate: IssuedCertificate) => void>();
  #current: IssuedCertificate | undefined;
  #cancel: (() => void) | undefined;
  #state: "idle" | "running" | "stopped" = "idle";

  constructor(options: WorkloadCertificateOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLog;
    this.#backoff = new Backoff(500, 30_000, options.random);
  }

  /** The newest certificate, if one was issued yet. */
  get current(): IssuedCertificate | undefined {
    return this.#current;
  }

  /** Begins to keep a certificate. */
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

  /**
   * Calls `listener` with the certificate in hand, if any, and with each new one. The function given back ends that.
   */
  watch(listener: (certificate: IssuedCertificate) => void): () => void {
    this.#listeners.add(listener);
    if (this.#current) listener(this.#current);
    return () => this.#listeners.delete(listener);
  }

  async #renew(): Promise<void> {
    let wait: number;
    try {
      const issued = await this.#options.issue();
      if (this.#state === "stopped") return;
      wait = Math.max(this.#untilRenewal(issued), 1000);
      this.#backoff.reset();
      this.#current = issued;
      this.#log.info(
        { expires: new Date(issued.notAfter).toISOString(), renewInSeconds: Math.round(wait / 1000) },
        "workload certificate issued",
      );
      for (const listener of [...this.#listeners]) listener(issued);
    } catch (error) {
      wait = this.#backoff.next();
      this.#log.warn({ retryInSeconds: Math.round(wait / 100) / 10 }, `no workload certificate: ${reasonOf(error)}`);
    }
    if ((this.#state as string) === "stopped") return;
    this.#cancel = this.#clock.after(wait, () => void this.#renew());
  }

  #untilRenewal({ notAfter }: IssuedCertificate): number {
    const { graceRatio = 0.5, graceJitter = 0.01, random = Math.random } = this.#options;
    const ratio = Math.min(Math.max(graceRatio + graceJitter * (2 * random() - 1), 0), 1);
    return (notAfter - this.#clock.now()) * (1 - ratio);
  }
}
