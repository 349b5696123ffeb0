import type { StoredRecord } from "./election-lock.js";
import type { ElectionRecord } from "./election-record.js";

/** Attempts without an answer that are recognized. A record of an older one counts as one of another process. */
const maxAttempts = 16;

/** A candidate's knowledge of the stored record. Times are milliseconds of its monotonic clock. */
export class ObservedRecord {
  readonly #leaseDurationMs: number;
  #stored: StoredRecord | undefined;
  /** Time at which the stored version was seen first. */
  #since = -Infinity;
  /** Until then, a holder from whom this candidate has taken the lock may lead. */
  #settledAt = -Infinity;
  /** Records that this candidate has sent since the last one that it saw: any of them may be stored. */
  #attempts: readonly ElectionRecord[] = [];
  #isOwn = false;

  constructor(leaseDurationMs: number) {
    this.#leaseDurationMs = leaseDurationMs;
  }

  /** The record that was seen last; undefined if there was none. */
  get stored(): StoredRecord | undefined {
    return this.#stored;
  }

  /** Reports whether this process has written the stored record. */
  get isOwn(): boolean {
    return this.#isOwn;
  }

  /** Notes the answer to a read. An object that has disappeared counts as unchanged, so that its holder's time ends. */
  see(stored: StoredRecord | undefined, now: number): void {
    if (stored === undefined) {
      this.#isOwn = false;
      return;
    }
    if (stored.version === this.#stored?.version) return;
    this.#isOwn = this.#attempts.some((attempt) => isSameWrite(attempt, stored.record));
    this.#stored = stored;
    this.#since = now;
    // Attempts on an earlier version fail with a conflict.
    this.#attempts = this.#isOwn ? [stored.record] : [];
  }

  /** Notes a record before it is sent. */
  attempt(record: ElectionRecord): void {
    this.#attempts = [...this.#attempts.slice(1 - maxAttempts), record];
  }

  /** Notes a record that was written. */
  written(stored: StoredRecord, now: number): void {
    this.#stored = stored;
    this.#since = now;
    this.#isOwn = true;
    this.#attempts = [stored.record];
  }

  /** Notes that this candidate is about to take the lock from its holder. */
  takeOver(now: number): void {
    this.#settledAt = Math.max(this.#settledAt, now + this.#holdersMs());
  }

  /** Reports whether this candidate may write: the record is its own, released, expired, or there never was one. */
  isFree(now: number): boolean {
    if (this.#isOwn || this.#stored === undefined || this.#stored.record.holderIdentity === "") return true;
    return now >= this.#since + this.#holdersMs();
  }

  /** Returns the milliseconds until this candidate may write, if the record stays as it is; 0 if it may. */
  waitMs(now: number): number {
    return this.isFree(now) ? 0 : this.#since + this.#holdersMs() - now;
  }

  /** Reports whether no earlier holder can lead any more. */
  isSettled(now: number): boolean {
    return now >= this.#settledAt;
  }

  /** A holder with a longer lease may lead for longer than this candidate would. */
  #holdersMs(): number {
    return Math.max(this.#leaseDurationMs, (this.#stored?.record.leaseDurationSeconds ?? 0) * 1000);
  }
}

/** Compares what a lock stores in any case: keys may not be. */
function isSameWrite(attempt: ElectionRecord, stored: ElectionRecord): boolean {
  return (
    attempt.holderIdentity === stored.holderIdentity &&
    attempt.acquireTime === stored.acquireTime &&
    attempt.renewTime === stored.renewTime &&
    attempt.leaderTransitions === stored.leaderTransitions
  );
}
