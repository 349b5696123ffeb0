import { ApiError } from "../api-error.js";

/** Maximum bytes of one object. The largest that etcd stores by default has 1.5 MiB; JSON and base64 take more. */
const maxObjectBytes = 16 * 1024 * 1024;

/**
 * Received bytes of an object that is not complete. Bytes that were found to be incomplete are offered again only when
 * there are twice as many, so that the cost of a large object in small chunks is linear.
 */
export class PendingBytes {
  #chunks: Buffer[] = [];
  #length = 0;
  #retryAt = 0;

  get length(): number {
    return this.#length;
  }

  /** Adds a chunk. Returns all bytes if another attempt is due. */
  push(chunk: Uint8Array, endsWithNewline = false): Buffer | undefined {
    this.#chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
    this.#length += chunk.length;
    return this.#length >= this.#retryAt || endsWithNewline ? this.all() : undefined;
  }

  /** Returns all bytes. */
  all(): Buffer {
    const bytes = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks, this.#length);
    this.#chunks = [bytes];
    return bytes;
  }

  /**
   * Keeps the bytes from an offset: the beginning of an object.
   *
   * @param needed number of bytes that complete it, if known
   */
  keepFrom(offset: number, needed?: number): void {
    const rest = this.all().subarray(offset);
    if (rest.length > maxObjectBytes || (needed ?? 0) > maxObjectBytes) {
      throw new ApiError("malformed", `an object is longer than ${maxObjectBytes} bytes`);
    }
    // A copy, because the rest of a chunk would keep the whole chunk.
    this.#chunks = rest.length === 0 ? [] : [Buffer.from(rest)];
    this.#length = rest.length;
    this.#retryAt = needed ?? rest.length * 2;
  }
}
