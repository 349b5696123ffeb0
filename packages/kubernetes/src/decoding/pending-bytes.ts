import { ApiError } from "../api-error.js";

/** Maximum bytes of one object. The largest that etcd stores by default has 1.5 MiB; JSON and base64 take more. */
const maxObjectBytes = 16 * 1024 * 1024;
const newline = 0x0a;

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
  push(chunk: Uint8Array): Buffer | undefined {
    this.#chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
    this.#length += chunk.length;
    return this.#length >= this.#retryAt ? this.all() : undefined;
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
   * @throws ApiError `malformed` if there are too many
   */
  keepFrom(offset: number): void {
    const rest = this.all().subarray(offset);
    checkLength(rest.length);
    // A copy, because the rest of a chunk would keep the whole chunk.
    this.#chunks = rest.length === 0 ? [] : [Buffer.from(rest)];
    this.#length = rest.length;
    this.#retryAt = rest.length * 2;
  }
}

/** Received bytes of a line that is not complete. */
export class PendingLine {
  #chunks: Uint8Array[] = [];
  #length = 0;

  /**
   * Adds a chunk. Returns the lines that are complete, if any.
   *
   * @throws ApiError `malformed` if the line is too long
   */
  push(chunk: Uint8Array): Buffer | undefined {
    const end = chunk.lastIndexOf(newline) + 1;
    if (end === 0) {
      this.#add(chunk);
      checkLength(this.#length);
      return undefined;
    }
    this.#add(chunk.subarray(0, end));
    const lines = this.takeAll();
    if (end < chunk.length) this.#add(chunk.subarray(end));
    return lines;
  }

  /** Removes all bytes, and returns them. */
  takeAll(): Buffer {
    const bytes = Buffer.concat(this.#chunks, this.#length);
    this.#chunks = [];
    this.#length = 0;
    return bytes;
  }

  #add(bytes: Uint8Array): void {
    this.#chunks.push(bytes);
    this.#length += bytes.length;
  }
}

function checkLength(length: number): void {
  if (length > maxObjectBytes) throw new ApiError("malformed", `an object is longer than ${maxObjectBytes} bytes`);
}
