const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds of a duration in Go's notation: `300ms`, `1.5h`, `24h0m0s`, `0`; `undefined` for anything else. */
export function parseDuration(text: string): number | undefined {
  if (text === "0") return 0;
  const whole = /^([+-]?)((?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+)$/.exec(text);
  if (!whole) return undefined;
  let sum = 0;
  for (const [, count, unit] of (whole[2] ?? "").matchAll(/(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)/g))
    sum += Number(count) * (UNITS[unit ?? ""] ?? 0);
  return whole[1] === "-" ? -sum : sum;
}

/** The same notation for a number of milliseconds, for people. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds === 0) return "0s";
  for (const unit of ["h", "m", "s"]) {
    const size = UNITS[unit] ?? 1;
    if (milliseconds % size === 0) return `${milliseconds / size}${unit}`;
  }
  return `${milliseconds}ms`;
}
