/** Returns a text in quotes as Go's package `time` does: every byte beyond ASCII is an escape. */
export const quoteBytes = (text: string): string =>
  `"${Array.from(Buffer.from(text), (byte) => {
    const character = String.fromCharCode(byte);
    if (byte < 0x20 || byte >= 0x80) return `\\x${byte.toString(16).padStart(2, "0")}`;
    return character === '"' || character === "\\" ? `\\${character}` : character;
  }).join("")}"`;

const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const limit = 2n ** 63n;

/** Returns the nanoseconds of a duration such as `1h30m`, or the message of Go's error. */
export function parseDuration(text: string): bigint | string {
  const invalid = `time: invalid duration ${quoteBytes(text)}`;
  const sign = /^[+-]/.exec(text)?.[0] ?? "";
  let rest = text.slice(sign.length);
  if (rest === "0") return 0n;
  if (rest === "") return invalid;
  let total = 0n;
  while (rest !== "") {
    const [, whole = "", fraction, unit = ""] = /^([0-9]*)(?:\.([0-9]*))?([^0-9.]*)/.exec(rest) ?? [];
    if (whole === "" && (fraction ?? "") === "") return invalid;
    if (unit === "") return `time: missing unit in duration ${quoteBytes(text)}`;
    const scale = Object.hasOwn(units, unit) ? units[unit] : undefined;
    if (scale === undefined) return `time: unknown unit ${quoteBytes(unit)} in duration ${quoteBytes(text)}`;
    total += BigInt(whole === "" ? 0 : whole) * scale;
    if (fraction !== undefined && fraction !== "") total += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
    if (total > limit) return invalid;
    rest = rest.slice(whole.length + (fraction === undefined ? 0 : fraction.length + 1) + unit.length);
  }
  if (sign !== "-" && total === limit) return invalid;
  return sign === "-" ? -total : total;
}

/** Returns a duration as Go prints it, such as `1h0m0.5s`. */
export function formatDuration(nanoseconds: bigint): string {
  const sign = nanoseconds < 0n ? "-" : "";
  const total = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  if (total === 0n) return "0s";
  if (total < 1_000n) return `${sign}${total}ns`;
  if (total < 1_000_000n) return `${sign}${decimal(total, 3)}µs`;
  if (total < 1_000_000_000n) return `${sign}${decimal(total, 6)}ms`;
  const minutes = total / 60_000_000_000n;
  const seconds = `${decimal(total % 60_000_000_000n, 9)}s`;
  if (minutes === 0n) return sign + seconds;
  return minutes < 60n ? `${sign}${minutes}m${seconds}` : `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

function decimal(value: bigint, places: number): string {
  const digits = value.toString().padStart(places + 1, "0");
  const fraction = digits.slice(-places).replace(/0+$/, "");
  return digits.slice(0, -places) + (fraction === "" ? "" : `.${fraction}`);
}

const second = 1_000_000_000n;
const steps = [
  ["y", 365n * 24n * 3600n * second],
  ["mo", 30n * 24n * 3600n * second],
  ["d", 24n * 3600n * second],
  ["h", 3600n * second],
  ["m", 60n * second],
  ["s", second],
] as const;

/** Returns a duration in its largest unit, as sprig's `durationRound`. */
export function roundDuration(nanoseconds: bigint): string {
  const total = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const [unit, size] = steps.find(([, length]) => total > length) ?? [];
  return unit === undefined || size === undefined ? "0s" : `${total / size}${unit}`;
}
