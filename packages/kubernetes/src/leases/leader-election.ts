import { ApiError } from "../api-error.js";
import { retryOnConflict, sleep, withTimeout } from "../writers/retries.js";
import {
  type CompleteElectionOptions,
  completeOptions,
  jitterFactor,
  type LeaderElectionOptions,
} from "./election-options.js";
import type { StoredRecord } from "./election-lock.js";
import { type ElectionRecord, heldRecord, releasedRecord } from "./election-record.js";
import { type Instant, type Leadership, Term } from "./leadership.js";
import { ObservedRecord } from "./observed-record.js";

/**
 * Elects one leader among candidates, by a lock on the API server. Leading requires no clock to be right, only that no
 * clock runs faster than another by the ratio of lease duration to renew deadline.
 *
 * A candidate that takes over from a live holder, or that finds a record of its own name from an earlier process, waits
 * for a lease duration before it leads, because the earlier holder may still write. The lock must not be deleted while
 * candidates run.
 */
export class LeaderElection {
  readonly #options: CompleteElectionOptions;
  readonly #observed: ObservedRecord;
  readonly #stopping = new AbortController();
  #term: Term | undefined;
  #reportedLeader = "";
  #running: Promise<void> | undefined;

  /** @throws ApiError `configuration` if the durations do not fit together or the identity is empty */
  constructor(options: LeaderElectionOptions) {
    this.#options = completeOptions(options);
    this.#observed = new ObservedRecord(this.#options.leaseDurationMs);
  }

  /** The current term, if this candidate leads. */
  get leadership(): Leadership | undefined {
    return this.#term?.isHeld() ? this.#term : undefined;
  }

  /** Identity of the holder that was seen last; empty before the first attempt and after a release. */
  get leader(): string {
    return this.#reportedLeader;
  }

  /** Starts to compete for the lock, and goes on after each lost term. Further calls have no effect. */
  start(): void {
    this.#running ??= this.#run();
  }

  /**
   * Ends the term, if there is one, waits for writes in flight, and releases the lock, so that another candidate can
   * lead at once. The lock is left to expire if a write may still be executed.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) await this.#wait(this.#delay(await this.#tryAcquireOrRenew()));
    await this.#release();
  }

  /** Returns the milliseconds until the next attempt. */
  #delay(renewed: boolean): number {
    const { retryPeriodMs, renewPeriodMs, random } = this.#options;
    if (renewed) return renewPeriodMs;
    // A leader whose renewal has failed repeats it soon, since it has one renew deadline in total.
    if (this.#term !== undefined) return retryPeriodMs / 5;
    const delay = retryPeriodMs * (1 + random() * jitterFactor);
    // The lock of a holder that has ended is taken when it expires, not at the attempt after that.
    const untilFree = this.#observed.waitMs(this.#now().monotonic);
    return untilFree > 0 ? Math.min(delay, untilFree) : delay;
  }

  /** Attempts once. Returns true if this candidate holds the lock now. */
  async #tryAcquireOrRenew(): Promise<boolean> {
    const { clock, renewDeadlineMs, onError } = this.#options;
    try {
      // One hanging request must leave time for another.
      return await withTimeout(clock, renewDeadlineMs / 2, this.#stopping.signal, (signal) => this.#attempt(signal));
    } catch (error) {
      const isRace = error instanceof ApiError && (error.code === "conflict" || error.code === "already-exists");
      if (!isRace && !this.#stopping.signal.aborted) onError(error);
      return false;
    }
  }

  async #attempt(signal: AbortSignal): Promise<boolean> {
    return (await this.#renew(signal)) || (await this.#acquire(signal));
  }

  /** Extends the term by one request. Returns false if the lock must be read, because another party has changed it. */
  async #renew(signal: AbortSignal): Promise<boolean> {
    const { stored, isOwn } = this.#observed;
    if (stored === undefined || !isOwn || this.#term?.isHeld() !== true) return false;
    try {
      await this.#write(stored, signal);
      return true;
    } catch (error) {
      if (error instanceof ApiError && (error.code === "conflict" || error.code === "not-found")) return false;
      throw error;
    }
  }

  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { lock, identity, takesOverFrom } = this.#options;
    const stored = await lock.read(signal);
    signal.throwIfAborted();
    const { monotonic } = this.#now();
    this.#observed.see(stored, monotonic);
    if (!this.#observed.isOwn) this.#term?.end();
    this.#report(stored?.record.holderIdentity ?? "");
    if (!this.#observed.isFree(monotonic)) {
      const { holderKey = "", holderIdentity } = stored?.record ?? {};
      if (holderIdentity === undefined || holderIdentity === identity || !takesOverFrom?.(holderKey)) return false;
      this.#observed.takeOver(monotonic);
    }
    await this.#write(stored, signal);
    return true;
  }

  /** Replaces the stored record by one of this candidate, which leads then. */
  async #write(stored: StoredRecord | undefined, signal: AbortSignal): Promise<void> {
    const { lock, identity } = this.#options;
    const next = this.#nextRecord(stored);
    const sent = this.#now();
    this.#observed.attempt(next);
    const written = await (stored ? lock.update(next, stored, signal) : lock.create(next, signal));
    signal.throwIfAborted();
    this.#observed.written(written, this.#now().monotonic);
    this.#report(identity);
    this.#lead(sent, next);
  }

  #nextRecord(stored: StoredRecord | undefined): ElectionRecord {
    // After a deletion the count of transitions goes on.
    const { record } = stored ?? this.#observed.stored ?? {};
    return heldRecord(this.#options, { record, isOwn: this.#observed.isOwn, date: this.#now().date });
  }

  /** Starts or extends the term, unless an earlier holder may still lead. @param sent time before the write */
  #lead(sent: Instant, { leaderTransitions }: ElectionRecord): void {
    if (this.#stopping.signal.aborted) return;
    if (this.#term) return this.#term.renew(sent);
    if (!this.#observed.isSettled(sent.monotonic)) return;
    const { lock, clock, dates, leaseDurationMs, renewDeadlineMs, onStarted, onStopped } = this.#options;
    const term: Term = new Term(sent, {
      lock: lock.description,
      transitions: leaderTransitions,
      clock,
      dates,
      renewDeadlineMs,
      uncertaintyMs: leaseDurationMs - renewDeadlineMs,
      onEnd: () => {
        if (this.#term !== term) return;
        this.#term = undefined;
        this.#call(onStopped);
      },
    });
    if (!term.isHeld()) return term.end();
    this.#term = term;
    this.#call(() => onStarted(term));
  }

  async #release(): Promise<void> {
    const { clock, renewDeadlineMs, random, onError } = this.#options;
    if (!(await this.#term?.drain())) return;
    try {
      await withTimeout(clock, renewDeadlineMs / 2, undefined, (signal) =>
        // A renewal that was aborted may be executed in between.
        retryOnConflict(
          { read: () => this.#readOwn(signal), write: (stored) => this.#writeReleased(stored, signal) },
          { clock, random, signal },
        ),
      );
    } catch (error) {
      onError(error);
    }
  }

  /** Returns the stored record if this candidate has written it. */
  async #readOwn(signal: AbortSignal): Promise<StoredRecord | undefined> {
    const stored = await this.#options.lock.read(signal);
    this.#observed.see(stored, this.#now().monotonic);
    return this.#observed.isOwn ? stored : undefined;
  }

  async #writeReleased(stored: StoredRecord | undefined, signal: AbortSignal): Promise<void> {
    if (!stored) return;
    await this.#options.lock.update(releasedRecord(stored.record, this.#now().date), stored, signal);
  }

  #report(leader: string): void {
    if (leader === this.#reportedLeader) return;
    this.#reportedLeader = leader;
    if (leader !== "") this.#call(() => this.#options.onNewLeader(leader));
  }

  /** Calls back. An exception of the callback must not end the election. */
  #call(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #now(): Instant {
    const { clock, dates } = this.#options;
    return { monotonic: clock.now(), date: Math.floor(dates.now()) };
  }

  /** Waits, or until `stop`. */
  async #wait(delay: number): Promise<void> {
    await sleep(this.#options.clock, delay, this.#stopping.signal).catch(() => undefined);
  }
}
