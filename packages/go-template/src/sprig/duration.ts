import { readGoDuration } from "@istiod/settings";

/** Returns a text in quotes as Go's package `time` does: every byte beyond ASCII is an escape. */
export const quoteBytes = (text: string): string =>
  `"${Array.from(Buffer.from(text), (byte) => {
    const character = String.fromCharCode(byte);
    if (byte < 0x20 || byte >= 0x80) return `\\x${byte.toString(16).padStart(2, "0")}`;
    return character === '"' || character === "\\" ? `\\${character}` : character;
  }).join("")}"`;

/** Returns the nanoseconds of a duration such as `1h30m`, or the message of Go's error. */
export function parseDuration(text: string): bigint | string {
  const read = readGoDuration(text);
  if (typeof read === "bigint") return read;
  const unit =
    read.reason === "unknown unit" ? ` ${quoteBytes(read.unit)} in` : read.reason === "missing unit" ? " in" : "";
  return `time: ${read.reason}${unit} duration ${quoteBytes(text)}`;
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
