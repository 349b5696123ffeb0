import { Code, ConnectError } from "@connectrpc/connect";
import type { MessageBuffers } from "./message-buffers.js";

const prefixLength = 5;

/** Messages of at least this length are reassembled in pooled buffers. */
const longMessage = 64 * 1024;

export interface MessageReaderOptions {
  /** Longer messages fail with `ResourceExhausted`. */
  readonly maxBytes: number;
  /** Pool for long messages. By default each has a buffer of its own. */
  readonly buffers?: MessageBuffers;
  /**
   * Handles a message. Its bytes are valid until this returns, or until the returned promise settles; then the next message follows.
   * `push` rethrows its errors.
   */
  readonly message: (message: Buffer) => Promise<void> | undefined;
}

/** Splits a gRPC request body into messages, synchronously where neither a buffer nor the handler has to be awaited. */
export class MessageReader {
  readonly #options: MessageReaderOptions;
  #chunks: Buffer[] = [];
  #available = 0;
  /** Length of the message whose prefix was read. */
  #length: number | undefined;
  /** Buffer of that message if it is long, and the bytes of it that were received. */
  #long: Buffer | undefined;
  #filled = 0;
  #delivering = false;
  #closed = false;

  constructor(options: MessageReaderOptions) {
    this.#options = options;
  }

  /**
   * Reads the next chunk of the body. If this returns a promise, the next chunk must be passed after it settles.
   *
   * @throws ConnectError `ResourceExhausted` for a message that is too long, `Unimplemented` for a compressed message
   */
  push(chunk: Buffer): Promise<void> | undefined {
    this.#chunks.push(chunk);
    this.#available += chunk.length;
    return this.#read();
  }

  /**
   * Checks that the body ended at the end of a message.
   *
   * @throws ConnectError `InvalidArgument` if it ended within a message
   */
  end(): void {
    if (this.#available > 0 || this.#length !== undefined)
      throw new ConnectError("request body ended within a message", Code.InvalidArgument);
  }

  /** Stops reading and releases the buffer. */
  close(): void {
    this.#closed = true;
    if (!this.#delivering) this.#release();
  }

  #read(): Promise<void> | undefined {
    while (!this.#closed) {
      if (this.#length === undefined) {
        if (this.#available < prefixLength) return undefined;
        this.#length = lengthIn(this.#take(prefixLength), this.#options.maxBytes);
        const buffer = this.#length >= longMessage ? this.#options.buffers?.acquire(this.#length) : undefined;
        if (buffer instanceof Promise) return buffer.then((each) => this.#use(each)).then(() => this.#read());
        if (buffer !== undefined) this.#use(buffer);
      }
      const message = this.#message(this.#length);
      if (message === undefined) return undefined;
      this.#length = undefined;
      const busy = this.#deliver(message);
      if (busy !== undefined) return busy.then(() => this.#read());
    }
    return undefined;
  }

  #use(buffer: Buffer): void {
    this.#long = buffer;
    this.#filled = 0;
    if (this.#closed) this.#release();
  }

  /** Returns the message once all of it was received. */
  #message(length: number): Buffer | undefined {
    if (this.#long === undefined) return this.#available < length ? undefined : this.#take(length);
    while (this.#filled < length && this.#chunks[0] !== undefined) {
      const part = this.#chunks[0].subarray(0, length - this.#filled);
      this.#long.set(part, this.#filled);
      this.#filled += part.length;
      this.#skip(part.length);
    }
    return this.#filled < length ? undefined : this.#long.subarray(0, length);
  }

  #deliver(message: Buffer): Promise<void> | undefined {
    let busy: Promise<void> | undefined;
    this.#delivering = true;
    try {
      busy = this.#options.message(message);
      return busy?.finally(() => this.#delivered());
    } finally {
      if (busy === undefined) this.#delivered();
    }
  }

  #delivered(): void {
    this.#delivering = false;
    this.#release();
  }

  #release(): void {
    if (this.#long !== undefined) this.#options.buffers?.release(this.#long);
    this.#long = undefined;
  }

  /** Removes and returns bytes that were received. */
  #take(count: number): Buffer {
    const [first] = this.#chunks;
    if (count === 0 || first === undefined) return Buffer.alloc(0);
    const joined = first.length >= count ? first : Buffer.concat(this.#chunks);
    if (joined !== first) this.#chunks = [joined];
    this.#skip(count);
    return joined.subarray(0, count);
  }

  /** Removes bytes of the first chunk. */
  #skip(count: number): void {
    const [first] = this.#chunks;
    this.#available -= count;
    if (first === undefined || first.length === count) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(count);
  }
}

function lengthIn(prefix: Buffer, maxBytes: number): number {
  if (prefix.readUInt8(0) !== 0) throw new ConnectError("compressed requests are not supported", Code.Unimplemented);
  const length = prefix.readUInt32BE(1);
  if (length > maxBytes)
    throw new ConnectError(`request message larger than max (${length} vs. ${maxBytes})`, Code.ResourceExhausted);
  return length;
}

/** Returns the gRPC prefix of a message followed by the message's first part. */
export function prefixed(head: Uint8Array, messageLength: number): Buffer {
  const buffer = Buffer.allocUnsafe(prefixLength + head.length);
  buffer.writeUInt8(0, 0);
  buffer.writeUInt32BE(messageLength, 1);
  buffer.set(head, prefixLength);
  return buffer;
}
