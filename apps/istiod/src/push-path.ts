import { availableParallelism } from "node:os";
import { duration } from "./flags.js";

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
  const quietMs = milliseconds(env, "PILOT_DEBOUNCE_AFTER", 100);
  const maxMs = Math.max(quietMs, milliseconds(env, "PILOT_DEBOUNCE_MAX", 10_000));
  return {
    quietMs,
    maxMs,
    debounceEndpoints: truth(env, "PILOT_ENABLE_EDS_DEBOUNCE", true),
    concurrentPushes: whole(env, "PILOT_PUSH_THROTTLE") || byProcessors,
    streamsPerSecond: number(env, "PILOT_MAX_REQUESTS_PER_SECOND") || byProcessors,
  };
}

function milliseconds(env: NodeJS.ProcessEnv, name: string, byDefault: number): number {
  const text = env[name];
  if (text === undefined || text === "") return byDefault;
  try {
    return duration(name, text);
  } catch {
    throw new Error(`${name} is "${text}", expected a duration such as 100ms or 10s`);
  }
}

function number(env: NodeJS.ProcessEnv, name: string): number {
  const text = env[name] ?? "";
  if (text === "") return 0;
  const value = Number(text);
  if (!Number.isFinite(value)) throw new Error(`${name} is "${text}", expected a number; 0 is the default`);
  return Math.max(0, value);
}

function whole(env: NodeJS.ProcessEnv, name: string): number {
  const value = number(env, name);
  if (!Number.isInteger(value)) throw new Error(`${name} is "${env[name] ?? ""}", expected a whole number; 0 is the default`);
  return value;
}

/** Go's forms of a boolean. */
function truth(env: NodeJS.ProcessEnv, name: string, byDefault: boolean): boolean {
  const text = env[name];
  if (text === undefined || text === "") return byDefault;
  if (/^(1|t|true)$/i.test(text)) return true;
  if (/^(0|f|false)$/i.test(text)) return false;
  throw new Error(`${name} is "${text}", expected true or false`);
}
