import { SharedWork, type Sliced } from "../sliced.js";
import type { Body } from "./body.js";
import { type Deflated, deflated, gzipped, stored } from "./gzip.js";

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
  readonly #deflated = new SharedWork<Body, readonly Deflated[]>();

  /** Compresses a message of a head and bodies. Returns undefined if it is too small. */
  *compress(head: Uint8Array, bodies: readonly Body[]): Sliced<CompressedMessage | undefined> {
    const bytes = bodies.reduce((sum, body) => sum + body.length, head.length);
    if (bytes < minMessageBytes) return undefined;
    const parts = [stored(head)];
    for (const body of bodies) parts.push(...(yield* this.#deflated.of(body, () => deflatedBody(body))));
    const pieces = gzipped(parts);
    return { pieces, length: pieces.reduce((sum, piece) => sum + piece.length, 0) };
  }
}

function* deflatedBody({ pieces }: Body): Sliced<readonly Deflated[]> {
  const parts: Deflated[] = [];
  let held = 0;
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; from += sliceBytes) {
      const slice = piece.subarray(from, from + sliceBytes);
      const isLong = slice.length >= minDeflatedBytes;
      if (isLong && held > 0) yield held;
      const part = isLong ? deflated(slice) : stored(slice);
      parts.push(part);
      held += part.bytes.length;
    }
  }
  return parts;
}
