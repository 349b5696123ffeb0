/** A range of byte values. */
export interface ByteRange {
  readonly low: number;
  readonly high: number;
}

/** The greatest code point that UTF-8 encodes in 1, 2, 3 and 4 bytes. */
const greatest = [0x7f, 0x7ff, 0xffff, 0x10ffff] as const;

/**
 * Splits a range of code points into sequences of byte ranges, each of which matches the UTF-8 forms of consecutive
 * code points.
 */
export function utf8Sequences(low: number, high: number): readonly (readonly ByteRange[])[] {
  if (low > high) return [];
  const boundary = greatest.find((most) => low <= most && most < high) ?? unalignedBoundary(low, high);
  if (boundary !== undefined) return [...utf8Sequences(low, boundary), ...utf8Sequences(boundary + 1, high)];
  const [from, to] = [encode(low), encode(high)];
  return [from.map((byte, i) => ({ low: byte, high: to[i] ?? byte }))];
}

/** Returns where a range must be split for its continuation bytes to be independent; undefined if they are. */
function unalignedBoundary(low: number, high: number): number | undefined {
  if (high <= 0x7f) return undefined;
  for (let bytes = 1; bytes < 4; bytes++) {
    const mask = 2 ** (6 * bytes) - 1;
    if (Math.floor(low / (mask + 1)) === Math.floor(high / (mask + 1))) continue;
    if ((low & mask) !== 0) return low | mask;
    if ((high & mask) !== mask) return (high & ~mask) - 1;
  }
  return undefined;
}

function encode(codePoint: number): readonly number[] {
  const length = greatest.findIndex((most) => codePoint <= most) + 1;
  if (length === 1) return [codePoint];
  const continuation = Array.from(
    { length: length - 1 },
    (_, i) => 0x80 | ((codePoint >> (6 * (length - 2 - i))) & 0x3f),
  );
  const lead = [0xc0, 0xe0, 0xf0][length - 2] ?? 0;
  return [lead | (codePoint >> (6 * (length - 1))), ...continuation];
}
