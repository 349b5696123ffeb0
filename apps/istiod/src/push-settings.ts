import { availableParallelism } from "node:os";
import { variables } from "./variables.js";

/** Settings for debouncing changes and pushing them, from Istio's environment variables. */
export interface PushSettings {
  /** PILOT_DEBOUNCE_AFTER: quiet period in milliseconds after which changes are committed. */
  readonly quietMs: number;
  /** PILOT_DEBOUNCE_MAX: maximum delay of a change in milliseconds; at least PILOT_DEBOUNCE_AFTER. */
  readonly maxMs: number;
  /** PILOT_ENABLE_EDS_DEBOUNCE: whether endpoint-only changes are debounced. */
  readonly debounceEndpoints: boolean;
  /** PILOT_PUSH_THROTTLE: maximum number of concurrent pushes. */
  readonly concurrentPushes: number;
  /** PILOT_MAX_REQUESTS_PER_SECOND: maximum rate of new streams. */
  readonly streamsPerSecond: number;
}

/**
 * Reads the push settings. Defaults are Istio's (pilot/pkg/features/tuning.go): a throttle or rate of 0 or less means
 * 15 plus 5 per processor, at most 100.
 *
 * @throws SettingError naming the invalid variable
 */
export function pushSettings(env: NodeJS.ProcessEnv, processors = availableParallelism()): PushSettings {
  const byProcessors = Math.min(15 + 5 * processors, 100);
  const quietMs = variables.debounceAfter.read(env);
  const maxMs = Math.max(quietMs, variables.debounceMax.read(env));
  return {
    quietMs,
    maxMs,
    debounceEndpoints: variables.edsDebounce.read(env),
    concurrentPushes: Math.max(0, variables.pushThrottle.read(env)) || byProcessors,
    streamsPerSecond: Math.max(0, variables.maxRequestsPerSecond.read(env)) || byProcessors,
  };
}
