import { availableParallelism } from "node:os";
import { variables } from "./variables.js";

/** How changes become pushes, as Istio's environment variables say it. */
export interface PushPath {
  /** PILOT_DEBOUNCE_AFTER: a burst of changes is over after so many milliseconds of quiet. */
  readonly quietMs: number;
  /** PILOT_DEBOUNCE_MAX: it is committed after so many milliseconds in any case, but not before PILOT_DEBOUNCE_AFTER. */
  readonly maxMs: number;
  /** PILOT_ENABLE_EDS_DEBOUNCE: whether changes of endpoints alone wait for quiet, too. */
  readonly debounceEndpoints: boolean;
  /** PILOT_PUSH_THROTTLE: proxies that are pushed to at the same time. */
  readonly concurrentPushes: number;
  /** PILOT_MAX_REQUESTS_PER_SECOND: new streams a second. */
  readonly streamsPerSecond: number;
}

/**
 * Reads the settings of the push path, with Istio's defaults (pilot/pkg/features/tuning.go): 0 or less for the throttle or the rate is 15, and 5
 * more for each processor, at most 100.
 *
 * @throws Error that names the variable whose value cannot be used.
 */
export function pushPath(env: NodeJS.ProcessEnv, processors = availableParallelism()): PushPath {
  const byProcessors = Math.min(15 + 5 * processors, 100);
  const quietMs = variables.debounceAfter.read(env);
  const maxMs = Math.max(quietMs, variables.debounceMax.read(env));
  return {
    quietMs,
    maxMs,
    debounceEndpoints: variables.edsDebounce.read(env),
    concurrentPushes: variables.pushThrottle.read(env) || byProcessors,
    streamsPerSecond: variables.maxRequestsPerSecond.read(env) || byProcessors,
  };
}
