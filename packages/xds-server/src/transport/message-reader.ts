import { Code, ConnectError } from "@connectrpc/connect";
import { ByteQueue, framePrefixLength, readFrameLength, WireError } from "@istiod/protobuf-wire";
import type { MessageBuffers } from "./message-buffers.js";

/** Messages of at least this length are reassembled in pooled buffers. */
const longMessage = 64 * 1024;

export interface MessageReaderOptions {
  /** Longer messages fail with `ResourceExhausted`. */
  readonly maxBytes: number;
  /** Pool for long messages. By default each has a buffer of its own. */
  readonly buffers?: MessageBuffers;
  /**
   * Handles a message. Its bytes are valid until this returns, or until the returned promise settles; then the next
   * message follows. `push` rethrows its errors.
   */
  readonly message: (message: Buffer) => Promise<void> | undefined;
}

/** Splits a gRPC request body into messages, synchronously where neither a buffer nor the handler has to be awaited. */
export class MessageReader {
  readonly #options: MessageReaderOptions;
  readonly #received = new ByteQueue();
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
    this.#received.push(chunk);
    return this.#read();
  }

  /**
   * Checks that the body ended at the end of a message.
   *
   * @throws ConnectError `InvalidArgument` if it ended within a message
   */
  end(): void {
    if (this.#received.length > 0 || this.#length !== undefined)
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
        const prefix = this.#received.take(framePrefixLength);
        if (prefix === undefined) return undefined;
        this.#length = lengthIn(prefix, this.#options.maxBytes);
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
    if (this.#long === undefined) return this.#received.take(length);
    this.#filled += this.#received.moveTo(this.#long, this.#filled, length - this.#filled);
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
}

function lengthIn(prefix: Buffer, maxBytes: number): number {
  try {
    return readFrameLength(prefix, maxBytes);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new ConnectError(error.message, error.code === "compressed" ? Code.Unimplemented : Code.ResourceExhausted);
  }
}
