import { ByteQueue } from "./byte-queue.js";
import { WireError } from "./wire-error.js";

/**
 * Length of a frame's prefix: a byte for compression and four bytes for the length (gRPC over HTTP/2,
 * "Length-Prefixed-Message").
 */
export const framePrefixLength = 5;
/** Maximum length of a message in bytes. */
const formatMaxLength = 0xffff_ffff;

/** A gRPC message with its prefix. */
export interface Frame {
  /** Prefix and message. */
  readonly bytes: Buffer;
  readonly message: Buffer;
  /** Reports whether the message is compressed with the encoding that the call's headers name. */
  readonly isCompressed: boolean;
}

/** Options of a reader. */
export interface FrameReaderOptions {
  /** Accepts compressed messages, which the caller must decompress. Default: false. */
  readonly acceptsCompressed?: boolean;
}

/**
 * Returns the message length in the prefix of an uncompressed frame.
 *
 * @throws WireError `compressed` for a compressed message and unknown flags, `too-long` above the limit
 */
export function readFrameLength(prefix: Buffer, maxLength = formatMaxLength): number {
  return readPrefix(prefix, maxLength, false).length;
}

function readPrefix(
  prefix: Buffer,
  maxLength: number,
  acceptsCompressed: boolean,
): { length: number; isCompressed: boolean } {
  const flag = prefix.readUInt8(0);
  if (flag > 1) throw new WireError("compressed", `unknown flags ${flag} of a gRPC message`);
  if (flag === 1 && !acceptsCompressed) throw new WireError("compressed", "compressed gRPC messages are not supported");
  const length = prefix.readUInt32BE(1);
  if (length > maxLength) {
    throw new WireError("too-long", `gRPC message larger than max (${length} vs. ${maxLength})`);
  }
  return { length, isCompressed: flag === 1 };
}

/**
 * Returns the prefix of a frame followed by the first part of the message.
 *
 * @param messageLength length of the whole message in bytes; default: that of the first part
 * @param isCompressed whether the message is compressed with the encoding that the call's headers name
 */
export function encodeFrame(
  firstPart: Uint8Array,
  messageLength = firstPart.length,
  { isCompressed = false }: { readonly isCompressed?: boolean } = {},
): Buffer {
  const bytes = Buffer.allocUnsafe(framePrefixLength + firstPart.length);
  bytes.writeUInt8(isCompressed ? 1 : 0, 0);
  bytes.writeUInt32BE(messageLength, 1);
  bytes.set(firstPart, framePrefixLength);
  return bytes;
}

/** Splits a byte stream into gRPC frames. */
export class FrameReader {
  readonly #queue = new ByteQueue();
  readonly #maxLength: number;
  readonly #acceptsCompressed: boolean;

  /** @param maxLength maximum length of a message in bytes, as it is sent; default: that of the format, 4 GiB */
  constructor(maxLength = formatMaxLength, { acceptsCompressed = false }: FrameReaderOptions = {}) {
    this.#maxLength = maxLength;
    this.#acceptsCompressed = acceptsCompressed;
  }

  /**
   * Adds a chunk and returns the frames that are complete.
   *
   * @throws WireError `compressed` for a compressed message unless they are accepted, `too-long` as soon as a prefix
   *   exceeds the limit
   */
  push(chunk: Buffer): Frame[] {
    this.#queue.push(chunk);
    const frames: Frame[] = [];
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) frames.push(frame);
    return frames;
  }

  #next(): Frame | undefined {
    const peeked = this.#queue.peek(framePrefixLength);
    const prefix = peeked && readPrefix(peeked, this.#maxLength, this.#acceptsCompressed);
    const bytes = prefix && this.#queue.take(framePrefixLength + prefix.length);
    return bytes && { bytes, message: bytes.subarray(framePrefixLength), isCompressed: prefix.isCompressed };
  }
}
