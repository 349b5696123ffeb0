import type { Duration } from "@bufbuild/protobuf/wkt";
import type { Place } from "./place.js";

const millisecond = 1_000_000n;

/** Maximum duration in nanoseconds: Envoy rejects those that do not fit in 64 bits. */
const longest = 9_223_372_035_000_000_000n;

/** Returns a duration in nanoseconds; 0 if absent. */
export function nanoseconds(duration: Duration | undefined): bigint {
  return duration === undefined ? 0n : duration.seconds * 1_000_000_000n + BigInt(duration.nanos);
}

/** Checks a duration: at least 1ms, in whole milliseconds. */
export function checkDuration(duration: Duration | undefined, place: Place): void {
  const value = nanoseconds(duration);
  if (value < millisecond) place.error(`is ${formatDuration(duration)}, expected at least 1ms`);
  else if (value > longest)
    place.error(`is ${formatDuration(duration)}, expected at most ${longest / 1_000_000_000n}s`);
  else if (value % millisecond !== 0n) place.error(`is ${formatDuration(duration)}, expected whole milliseconds`);
}

/** Checks a duration, if it is set: 0 or more, and not too long for Envoy. */
export function checkDurationFits(duration: Duration | undefined, place: Place): void {
  const value = nanoseconds(duration);
  if (value < 0n || value > longest)
    place.error(`is ${formatDuration(duration)}, expected 0s to ${longest / 1_000_000_000n}s`);
}

/** Checks a duration like `checkDuration`, if it is set. */
export function checkOptionalDuration(duration: Duration | undefined, place: Place): void {
  if (duration !== undefined) checkDuration(duration, place);
}

export function formatDuration(duration: Duration | undefined): string {
  if (duration === undefined) return "missing";
  return `${Number(nanoseconds(duration)) / 1e9}s`;
}
