import { type Clock, monotonicClock, systemClock } from "@istiod/settings";
import { ApiError } from "../api-error.js";
import { retryOnConflict, withTimeout } from "../writers/retries.js";
import type { ElectionLock, StoredRecord } from "./election-lock.js";
import type { ElectionRecord } from "./election-record.js";
import { type Instant, type Leadership, Term } from "./leadership.js";
import { ObservedRecord } from "./observed-record.js";

export interface LeaderElectionOptions {
  readonly lock: ElectionLock;
  /** Unique among all candidates, such as the pod's name. */
  readonly identity: string;
  /** Stored with the lock while this candidate holds it. Default: empty. */
  readonly key?: string;
  /**
   * Reports whether to take the lock from a holder with this key although that one renews it. Candidates must not take
   * over from each other in turn. Default: never.
   */
  readonly takesOverFrom?: (holderKey: string) => boolean;
  /** Milliseconds for which others wait after a renewal, in whole seconds. Default: 30,000, as in Istio. */
  readonly leaseDurationMs?: number;
  /** Milliseconds after a renewal for which this candidate leads, less than the lease. Default: half of it. */
  readonly renewDeadlineMs?: number;
  /** Milliseconds between attempts, less than the renew deadline. Default: a quarter of the lease. */
  readonly retryPeriodMs?: number;
  /** Called when a term starts. */
  readonly onStarted: (leadership: Leadership) => void;
  /** Called when a term has ended, in any way. */
  readonly onStopped?: () => void;
  /** Called when another candidate, or this one, is seen as the holder. */
  readonly onNewLeader?: (identity: string) => void;
  /** Called for attempts that fail, except where another candidate was faster. */
  readonly onError?: (error: unknown) => void;
  /** Monotonic clock for durations. */
  readonly clock?: Clock;
  /** Clock for the times in the record, and to detect that the machine was suspended. */
  readonly dates?: Clock;
  /** Returns a number from 0 to 1 that spreads the attempts of candidates. */
  readonly random?: () => number;
}

/** Candidates wait between one retry period and this factor more. */
const jitterFactor = 1.2;

/**
 * Elects one leader among candidates, by a lock on the API server. Leading requires no clock to be right, only that no
 * clock runs faster than another by the ratio of lease duration to renew deadline.
 *
 * A candidate that takes over from a live holder, or that finds a record of its own name from an earlier process, waits
 * for a lease duration before it leads, because the earlier holder may still write. The lock must not be deleted while
 * candidates run.
 */
export class LeaderElection {
  readonly #options: Required<Omit<LeaderElectionOptions, "lock" | "takesOverFrom">> &
    Pick<LeaderElectionOptions, "lock" | "takesOverFrom">;
  readonly #observed: ObservedRecord;
  readonly #stopping = new AbortController();
  #term: Term | undefined;
  #reportedLeader = "";
  #running: Promise<void> | undefined;

  /** @throws ApiError `configuration` if the durations do not fit together or the identity is empty */
  constructor(options: LeaderElectionOptions) {
    const leaseDurationMs = options.leaseDurationMs ?? 30_000;
    const ignore = (): void => undefined;
    this.#options = {
      key: "",
      renewDeadlineMs: leaseDurationMs / 2,
      retryPeriodMs: leaseDurationMs / 4,
      onStopped: ignore,
      onNewLeader: ignore,
      onError: ignore,
      clock: monotonicClock,
      dates: systemClock,
      random: Math.random,
      ...options,
      leaseDurationMs,
    };
    checkOptions(this.#options);
    this.#observed = new ObservedRecord(leaseDurationMs);
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
    const { retryPeriodMs, random } = this.#options;
    while (!this.#stopping.signal.aborted) {
      const renewed = await this.#tryAcquireOrRenew();
      const isHolder = this.#term !== undefined;
      // A leader whose renewal has failed repeats it soon, since it has one renew deadline in total.
      const delay = renewed
        ? retryPeriodMs
        : isHolder
          ? retryPeriodMs / 5
          : retryPeriodMs * (1 + random() * jitterFactor);
      await this.#wait(delay);
    }
    await this.#release();
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
    const next = this.#nextRecord(stored);
    const sent = this.#now();
    this.#observed.attempt(next);
    const written = await (stored ? lock.update(next, stored, signal) : lock.create(next, signal));
    signal.throwIfAborted();
    this.#observed.written(written, this.#now().monotonic);
    this.#report(identity);
    this.#lead(sent, next);
    return true;
  }

  #nextRecord(stored: StoredRecord | undefined): ElectionRecord {
    const { identity, key, leaseDurationMs } = this.#options;
    const { date } = this.#now();
    // After a deletion the count goes on.
    const { record } = stored ?? this.#observed.stored ?? {};
    const isOwn = this.#observed.isOwn;
    return {
      holderIdentity: identity,
      holderKey: key,
      leaseDurationSeconds: leaseDurationMs / 1000,
      acquireTime: isOwn && record ? record.acquireTime : date,
      renewTime: date,
      leaderTransitions: record === undefined ? 0 : record.leaderTransitions + (isOwn ? 0 : 1),
    };
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
    const { date } = this.#now();
    const released = { holderIdentity: "", holderKey: "", leaseDurationSeconds: 1, acquireTime: date, renewTime: date };
    await this.#options.lock.update({ ...stored.record, ...released }, stored, signal);
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

  async #wait(delay: number): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        cancel();
        signal.removeEventListener("abort", end);
        resolve();
      };
      const cancel = this.#options.clock.after(delay, end);
      signal.addEventListener("abort", end, { once: true });
    });
  }
}

function checkOptions(options: {
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}): void {
  const { identity, leaseDurationMs, renewDeadlineMs, retryPeriodMs } = options;
  const fail = (message: string): never => {
    throw new ApiError("configuration", `leader election: ${message}`);
  };
  if (identity === "") fail("identity must not be empty");
  if (!(leaseDurationMs >= 1000) || leaseDurationMs % 1000 !== 0)
    fail(`leaseDurationMs is ${leaseDurationMs}, must be whole seconds, at least one`);
  if (!(renewDeadlineMs < leaseDurationMs))
    fail(`renewDeadlineMs is ${renewDeadlineMs}, must be less than leaseDurationMs, ${leaseDurationMs}`);
  if (!(retryPeriodMs > 0) || !(retryPeriodMs * jitterFactor < renewDeadlineMs))
    fail(`retryPeriodMs is ${retryPeriodMs}, must be over 0 and less than renewDeadlineMs / ${jitterFactor}`);
}
