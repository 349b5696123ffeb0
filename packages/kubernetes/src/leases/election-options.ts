import { type Clock, monotonicClock, systemClock } from "@istiod/runtime";
import { ApiError } from "../api-error.js";
import type { ElectionLock } from "./election-lock.js";
import type { Leadership } from "./leadership.js";

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
  /**
   * Milliseconds between renewals of the leader, less than the renew deadline. Others do not take over later because
   * of it. Default: the retry period.
   */
  readonly renewPeriodMs?: number;
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

/** Options with their defaults. */
export type CompleteElectionOptions = Required<Omit<LeaderElectionOptions, "takesOverFrom">> &
  Pick<LeaderElectionOptions, "takesOverFrom">;

/** Candidates wait between one retry period and this factor more. */
export const jitterFactor = 1.2;

/**
 * Adds the defaults.
 *
 * @throws ApiError `configuration` if the durations do not fit together or the identity is empty
 */
export function completeOptions(options: LeaderElectionOptions): CompleteElectionOptions {
  const leaseDurationMs = options.leaseDurationMs ?? 30_000;
  const ignore = (): void => undefined;
  const complete = {
    key: "",
    renewDeadlineMs: leaseDurationMs / 2,
    retryPeriodMs: leaseDurationMs / 4,
    renewPeriodMs: options.retryPeriodMs ?? leaseDurationMs / 4,
    onStopped: ignore,
    onNewLeader: ignore,
    onError: ignore,
    clock: monotonicClock,
    dates: systemClock,
    random: Math.random,
    ...options,
    leaseDurationMs,
  };
  checkOptions(complete);
  return complete;
}

function checkOptions(options: CompleteElectionOptions): void {
  const { identity, leaseDurationMs, renewDeadlineMs, retryPeriodMs, renewPeriodMs } = options;
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
  if (!(renewPeriodMs > 0) || !(renewPeriodMs < renewDeadlineMs))
    fail(`renewPeriodMs is ${renewPeriodMs}, must be over 0 and less than renewDeadlineMs, ${renewDeadlineMs}`);
}
