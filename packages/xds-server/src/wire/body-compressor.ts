import { SharedWork, type Sliced } from "../sliced.js";
import type { Body } from "./body.js";
import { deflatePart, type GzipPart, joinParts, storePart } from "./gzip.js";

/** A message as it is sent, compressed. */
export interface CompressedMessage {
  readonly pieces: readonly Uint8Array[];
  readonly length: number;
}

/** Below this size, a message is sent as it is. */
const minMessageBytes = 16 * 1024;
/** Fewer bytes are framed and not compressed. */
const minDeflatedBytes = 1024;
/** Bytes compressed at a time, in about 1.5 ms. */
const sliceBytes = 1024 * 1024;

/**
 * Compresses responses for clients that accept gzip. A body is compressed once for all of them: for one megabyte, that
 * takes as much CPU as to encrypt it for one client.
 */
export class BodyCompressor {
  readonly #parts = new SharedWork<Body, readonly GzipPart[]>();

  /** Compresses a message of a head and bodies. Returns undefined if it is too small. */
  *compress(head: Uint8Array, bodies: readonly Body[]): Sliced<CompressedMessage | undefined> {
    const bytes = bodies.reduce((sum, body) => sum + body.length, head.length);
    if (bytes < minMessageBytes) return undefined;
    const slice = new Slice();
    const parts = [storePart(head)];
    for (const body of bodies) parts.push(...(yield* this.#parts.of(body, () => compressBody(body, slice))));
    const pieces = joinParts(parts);
    return { pieces, length: pieces.reduce((sum, piece) => sum + piece.length, 0) };
  }
}

/** Counts the bytes that were compressed since the last pause, in the bodies of one message. */
class Slice {
  bytes = 0;
  /** Bytes that the message holds compressed. */
  held = 0;
}

function* compressBody(body: Body, slice: Slice): Sliced<readonly GzipPart[]> {
  const parts: GzipPart[] = [];
  for (const bytes of slicesOf(body)) {
    if (slice.bytes > 0 && slice.bytes + bytes.length > sliceBytes) {
      yield slice.held;
      slice.bytes = 0;
    }
    const part = bytes.length < minDeflatedBytes ? storePart(bytes) : deflatePart(bytes);
    parts.push(part);
    slice.bytes += bytes.length;
    slice.held += part.bytes.length;
  }
  return parts;
}

/** Yields the bytes of a body in slices. Small pieces are joined, since each slice is compressed by itself. */
function* slicesOf({ pieces }: Body): Generator<Uint8Array> {
  let open: Uint8Array[] = [];
  let length = 0;
  for (const piece of pieces) {
    if (length > 0 && length + piece.length > sliceBytes) {
      yield joined(open);
      [open, length] = [[], 0];
    }
    let from = 0;
    for (; piece.length - from > sliceBytes; from += sliceBytes) yield piece.subarray(from, from + sliceBytes);
    open.push(piece.subarray(from));
    length += piece.length - from;
  }
  if (length > 0) yield joined(open);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
}
