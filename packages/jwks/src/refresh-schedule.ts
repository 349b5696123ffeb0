import { backoffDelay } from "@istiod/runtime";

/** Delays between fetches in milliseconds. */
export interface RefreshSchedule {
  /** Returns the delay after a success. The first of a key set is shorter, so that key sets do not stay in step. */
  afterSuccess(isFirst: boolean): number;
  /** Returns the delay after a number of failures in a row. */
  afterFailure(failures: number): number;
}

/** As in Istio (pilot/pkg/model/jwks_resolver.go): retries in short order, then with exponential backoff. */
const quickRetries = 7;
const quickRetryMs = 1000;
const minBackoffMs = 60_000;
const maxBackoffMs = 3_600_000;
/** Part of a delay that is random. */
const jitter = 0.1;

/**
 * Returns a schedule. Failures never delay a fetch by more than the interval, so that a provider that is back is not
 * found later than its new keys would be.
 *
 * @param intervalMs interval of refreshes
 * @param random returns a number from 0 to less than 1
 */
export function refreshSchedule(intervalMs: number, random: () => number = Math.random): RefreshSchedule {
  const longest = Math.min(maxBackoffMs, Math.max(intervalMs, quickRetryMs));
  return {
    afterSuccess: (isFirst) => intervalMs * (isFirst ? 1 - jitter + jitter * random() : 1),
    afterFailure(failures) {
      if (failures <= quickRetries) return Math.min(quickRetryMs, longest) * (1 - jitter + jitter * random());
      return backoffDelay(failures - quickRetries, {
        initialMs: Math.min(minBackoffMs, longest),
        maxMs: longest,
        random,
      });
    },
  };
}
