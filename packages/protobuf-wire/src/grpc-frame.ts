import { ByteQueue } from "./byte-queue.js";
import { WireError } from "./wire-error.js";

/**
 * Length of a frame's prefix: a byte for compression and four bytes for the length (gRPC over HTTP/2,
 * "Length-Prefixed-Message").
 */
export const framePrefixLength = 5;

/** An uncompressed gRPC message. */
export interface Frame {
  /** Prefix and message. */
  readonly bytes: Buffer;
  readonly message: Buffer;
}

/**
 * Returns the message length in a frame's prefix.
 *
 * @throws WireError `compressed` for a compressed message, `too-long` for a message that exceeds the limit
 */
export function readFrameLength(prefix: Buffer, maxLength = 0xffff_ffff): number {
  if (prefix.readUInt8(0) !== 0) throw new WireError("compressed", "compressed gRPC messages are not supported");
  const length = prefix.readUInt32BE(1);
  if (length > maxLength) {
    throw new WireError("too-long", `gRPC message larger than max (${length} vs. ${maxLength})`);
  }
  return length;
}

/**
 * Returns the prefix of a frame followed by the first part of the message.
 *
 * @param messageLength length of the whole message in bytes; default: that of the first part
 */
export function encodeFrame(firstPart: Uint8Array, messageLength = firstPart.length): Buffer {
  const bytes = Buffer.allocUnsafe(framePrefixLength + firstPart.length);
  bytes.writeUInt8(0, 0);
  bytes.writeUInt32BE(messageLength, 1);
  bytes.set(firstPart, framePrefixLength);
  return bytes;
}

/** Splits a byte stream into gRPC frames. */
export class FrameReader {
  readonly #queue = new ByteQueue();
  readonly #maxLength: number | undefined;

  /** @param maxLength maximum length of a message in bytes; default: that of the format, 4 GiB */
  constructor(maxLength?: number) {
    this.#maxLength = maxLength;
  }

  /**
   * Adds a chunk and returns the frames that are complete.
   *
   * @throws WireError `compressed` for a compressed message, `too-long` as soon as a prefix exceeds the limit
   */
  push(chunk: Buffer): Frame[] {
    this.#queue.push(chunk);
    const frames: Frame[] = [];
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) frames.push(frame);
    return frames;
  }

  #next(): Frame | undefined {
    const prefix = this.#queue.peek(framePrefixLength);
    const bytes = prefix && this.#queue.take(framePrefixLength + readFrameLength(prefix, this.#maxLength));
    return bytes && { bytes, message: bytes.subarray(framePrefixLength) };
  }
}
