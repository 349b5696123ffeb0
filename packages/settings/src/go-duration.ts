const nanosecondsPerUnit: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const nanosecondsPerMillisecond = 1e6;
/** Go's most negative duration, about -292 years; the longest one is a nanosecond shorter. */
const limit = 2n ** 63n;

/** The reason why a text is not a duration, as Go distinguishes them. */
export type GoDurationFault =
  | { readonly reason: "invalid" }
  | { readonly reason: "missing unit" }
  | { readonly reason: "unknown unit"; readonly unit: string };

/**
 * Reads a duration as Go's `time.ParseDuration` does (`1h30m`, `250ms`, `-1.5s`, `0`). Returns nanoseconds, or the
 * reason for which Go rejects the text. Fractions of a nanosecond are cut off.
 */
export function readGoDuration(text: string): bigint | GoDurationFault {
  const sign = /^[+-]/.exec(text)?.[0] ?? "";
  let rest = text.slice(sign.length);
  if (rest === "0") return 0n;
  if (rest === "") return { reason: "invalid" };
  let total = 0n;
  while (rest !== "") {
    const [term = "", whole = "", fraction = "", unit = ""] = /^([0-9]*)\.?([0-9]*)([^0-9.]*)/.exec(rest) ?? [];
    if (whole === "" && fraction === "") return { reason: "invalid" };
    if (unit === "") return { reason: "missing unit" };
    const scale = Object.hasOwn(nanosecondsPerUnit, unit) ? nanosecondsPerUnit[unit] : undefined;
    if (scale === undefined) return { reason: "unknown unit", unit };
    total += BigInt(whole || "0") * scale + (BigInt(fraction || "0") * scale) / 10n ** BigInt(fraction.length);
    if (total > limit) return { reason: "invalid" };
    rest = rest.slice(term.length);
  }
  if (sign === "-") return -total;
  return total === limit ? { reason: "invalid" } : total;
}

/** Parses a duration like {@link readGoDuration}. Returns undefined for any other text. */
export function parseGoDuration(text: string): bigint | undefined {
  const read = readGoDuration(text);
  return typeof read === "bigint" ? read : undefined;
}

/** Returns nanoseconds as Go's `time.Duration` prints them: `1h30m0s`, `1.5s`, `250µs`, `0s`. */
export function goDurationText(nanoseconds: bigint): string {
  const sign = nanoseconds < 0n ? "-" : "";
  const total = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const [minutes, seconds] = [total / 60_000_000_000n, total % 60_000_000_000n];
  if (minutes === 0n) return sign + secondsText(seconds);
  const hours = minutes / 60n;
  return `${sign}${hours === 0n ? "" : `${hours}h`}${minutes % 60n}m${decimal(seconds, 9)}s`;
}

/** Formats nanoseconds as the shortest duration that {@link parseGoDuration} parses: `1h30m`, `1.5s`, `250us`, `0s`. */
export function formatGoDuration(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return "0s";
  const total = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const [minutes, seconds] = [total / 60_000_000_000n, total % 60_000_000_000n];
  return [
    nanoseconds < 0n ? "-" : "",
    minutes < 60n ? "" : `${minutes / 60n}h`,
    minutes % 60n === 0n ? "" : `${minutes % 60n}m`,
    seconds === 0n ? "" : secondsText(seconds).replace("µ", "u"),
  ].join("");
}

/** Returns nanoseconds of less than a minute in the unit that Go prints them in. */
function secondsText(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return "0s";
  if (nanoseconds < 1_000n) return `${nanoseconds}ns`;
  if (nanoseconds < 1_000_000n) return `${decimal(nanoseconds, 3)}µs`;
  if (nanoseconds < 1_000_000_000n) return `${decimal(nanoseconds, 6)}ms`;
  return `${decimal(nanoseconds, 9)}s`;
}

/** Returns a value divided by a power of ten as a decimal number without trailing zeros. */
function decimal(value: bigint, places: number): string {
  const digits = value.toString().padStart(places + 1, "0");
  const fraction = digits.slice(-places).replace(/0+$/, "");
  return digits.slice(0, -places) + (fraction === "" ? "" : `.${fraction}`);
}

/** Parses a Go duration and returns milliseconds, with fractions. Returns undefined for any other text. */
export function parseDurationMs(text: string): number | undefined {
  const nanoseconds = parseGoDuration(text);
  if (nanoseconds === undefined) return undefined;
  // Whole milliseconds apart: as a number, nanoseconds are exact for 104 days only.
  const scale = BigInt(nanosecondsPerMillisecond);
  return Number(nanoseconds / scale) + Number(nanoseconds % scale) / nanosecondsPerMillisecond;
}

/** Formats milliseconds as a Go duration, to the nanosecond. */
export function formatDurationMs(milliseconds: number): string {
  const whole = Math.trunc(milliseconds);
  const fraction = Math.round((milliseconds - whole) * nanosecondsPerMillisecond);
  return formatGoDuration(BigInt(whole) * BigInt(nanosecondsPerMillisecond) + BigInt(fraction));
}

/** Formats nanoseconds as the JSON of a protobuf duration: seconds with a fraction, such as `5400s`. */
export function protobufDuration(nanoseconds: bigint): string {
  return nanoseconds < 0n ? `-${decimal(-nanoseconds, 9)}s` : `${decimal(nanoseconds, 9)}s`;
}
