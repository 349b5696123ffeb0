const nanosecondsOf: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};

/**
 * A duration as Go writes it (`1h30m`, `250ms`), in nanoseconds; undefined if it is none. Istio's API takes this form
 * wherever a protobuf duration stands.
 */
export function parseGoDuration(text: string): bigint | undefined {
  if (!/^[+-]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/.test(text)) return undefined;
  let nanoseconds = 0n;
  for (const [, whole = "", fraction = "", unit = ""] of text.matchAll(/(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g)) {
    const scale = nanosecondsOf[unit] ?? 0;
    nanoseconds +=
      BigInt(whole === "" ? 0 : whole) * BigInt(scale) +
      BigInt(Math.trunc(Number(`0.${fraction === "" ? 0 : fraction}`) * scale));
  }
  return text.startsWith("-") ? -nanoseconds : nanoseconds;
}

/** The same duration in protobuf's JSON form: seconds with a fraction, such as `5400s`. */
export function protobufDuration(nanoseconds: bigint): string {
  const sign = nanoseconds < 0n ? "-" : "";
  const magnitude = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction = (magnitude % 1_000_000_000n).toString().padStart(9, "0").replace(/0+$/, "");
  return `${sign}${magnitude / 1_000_000_000n}${fraction === "" ? "" : `.${fraction}`}s`;
}
