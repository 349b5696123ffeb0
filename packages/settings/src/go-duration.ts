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
/** Go's longest duration, about 292 years; the most negative one is a nanosecond longer. */
const longest = 2n ** 63n - 1n;

const format = /^([+-]?)(0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;

/**
 * Parses a duration as Go's `time.ParseDuration` does (`1h30m`, `250ms`, `-1.5s`, `0`) and returns nanoseconds. Returns
 * undefined for any other text, and beyond 64 bits. Fractions of a nanosecond are cut off.
 */
export function parseGoDuration(text: string): bigint | undefined {
  const match = format.exec(text);
  if (match === null) return undefined;
  let nanoseconds = 0n;
  for (const [, whole = "", fraction = "", unit = ""] of text.matchAll(/(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g)) {
    const scale = nanosecondsPerUnit[unit] ?? 0n;
    nanoseconds += BigInt(whole || "0") * scale + (BigInt(fraction || "0") * scale) / 10n ** BigInt(fraction.length);
  }
  const isNegative = match[1] === "-";
  if (nanoseconds > (isNegative ? longest + 1n : longest)) return undefined;
  return isNegative ? -nanoseconds : nanoseconds;
}

/** Formats nanoseconds as the shortest duration that {@link parseGoDuration} parses: `1h30m`, `1.5s`, `250ms`, `0s`. */
export function formatGoDuration(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return "0s";
  let rest = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  let text = nanoseconds < 0n ? "-" : "";
  for (const unit of ["h", "m"] as const) {
    const scale = nanosecondsPerUnit[unit] ?? 1n;
    if (rest >= scale) text += `${rest / scale}${unit}`;
    rest %= scale;
  }
  if (rest === 0n) return text;
  const [unit, scale] = Object.entries({ s: 1_000_000_000n, ms: 1_000_000n, us: 1_000n, ns: 1n }).find(
    ([, size]) => rest >= size,
  ) ?? ["ns", 1n];
  const fraction = (rest % scale)
    .toString()
    .padStart(scale.toString().length - 1, "0")
    .replace(/0+$/, "");
  return `${text}${rest / scale}${fraction === "" ? "" : `.${fraction}`}${unit}`;
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
  const sign = nanoseconds < 0n ? "-" : "";
  const magnitude = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction = (magnitude % 1_000_000_000n).toString().padStart(9, "0").replace(/0+$/, "");
  return `${sign}${magnitude / 1_000_000_000n}${fraction === "" ? "" : `.${fraction}`}s`;
}
