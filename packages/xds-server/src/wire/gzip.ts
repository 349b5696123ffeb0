import { constants, crc32, deflateRawSync } from "node:zlib";

/**
 * Bytes in the deflate format (RFC 1951) that end at a byte boundary, before the last block, and refer to nothing
 * before them. Parts that are compressed once are joined to any number of gzip streams.
 */
export interface GzipPart {
  readonly bytes: Uint8Array;
  /** Length of the original bytes, and their CRC-32. */
  readonly length: number;
  readonly crc: number;
  /** Factor by which the CRC of the preceding bytes is multiplied: x^(8 length) modulo the polynomial of CRC-32. */
  readonly shift: number;
}

/** Fastest compression: configurations are so repetitive that more takes much time for little. */
const level = 1;
/** Maximum length of a stored block, which follows a header of five bytes. */
const maxStoredBytes = 0xffff;

/** Compresses bytes. */
export function deflatePart(bytes: Uint8Array): GzipPart {
  const compressed = deflateRawSync(bytes, { level, finishFlush: constants.Z_SYNC_FLUSH });
  // The result may be a view of a larger buffer.
  return createPart(new Uint8Array(compressed), bytes);
}

/** Frames bytes without compressing them. */
export function storePart(bytes: Uint8Array): GzipPart {
  const blocks = Math.ceil(bytes.length / maxStoredBytes);
  const framed = Buffer.allocUnsafe(bytes.length + 5 * blocks);
  for (let block = 0; block < blocks; block++) {
    const content = bytes.subarray(block * maxStoredBytes, (block + 1) * maxStoredBytes);
    const at = block * (maxStoredBytes + 5);
    framed.writeUInt8(0, at);
    framed.writeUInt16LE(content.length, at + 1);
    framed.writeUInt16LE(~content.length & 0xffff, at + 3);
    framed.set(content, at + 5);
  }
  return createPart(framed, bytes);
}

function createPart(bytes: Uint8Array, original: Uint8Array): GzipPart {
  return { bytes, length: original.length, crc: crc32(original), shift: powerOfX(8 * original.length) };
}

/** Header of a gzip stream (RFC 1952) without a name and a time, of an unknown system. */
const gzipHeader = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255);
/** An empty last block with fixed codes. */
const lastBlock = [3, 0] as const;

/**
 * Joins parts to the bytes of one gzip stream with one member: not every decoder reads several.
 *
 * @returns its pieces in order; those of the parts are shared
 */
export function joinParts(parts: readonly GzipPart[]): Uint8Array[] {
  let [crc, length] = [0, 0];
  for (const each of parts) {
    crc = (multiply(crc, each.shift) ^ each.crc) >>> 0;
    length += each.length;
  }
  const trailer = Buffer.allocUnsafe(lastBlock.length + 8);
  trailer.set(lastBlock);
  trailer.writeUInt32LE(crc, lastBlock.length);
  trailer.writeUInt32LE(length % 2 ** 32, lastBlock.length + 4);
  return [gzipHeader, ...parts.map(({ bytes }) => bytes), trailer];
}

/** The polynomial of CRC-32, without x^32. Bit 31 is the coefficient of x^0. */
const polynomial = 0xedb88320;
const one = 0x80000000;

/** Multiplies polynomials modulo the polynomial of CRC-32. */
function multiply(a: number, b: number): number {
  let product = 0;
  for (let [rest, term] = [a, b]; rest !== 0; rest <<= 1) {
    if (rest & one) product ^= term;
    term = term & 1 ? (term >>> 1) ^ polynomial : term >>> 1;
  }
  return product >>> 0;
}

/** Returns x^exponent modulo the polynomial of CRC-32. */
function powerOfX(exponent: number): number {
  let result = one;
  for (let [square, rest] = [one >>> 1, exponent]; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}
