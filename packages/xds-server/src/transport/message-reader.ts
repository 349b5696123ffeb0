import { Code, ConnectError } from "@connectrpc/connect";
import { ByteQueue, framePrefixLength, readFrameLength, WireError } from "@istiod/protobuf-wire";
import type { UnfinishedRequest } from "../limits/request-memory.js";

export interface MessageReaderOptions {
  /** Longer messages fail with `ResourceExhausted`. */
  readonly maxBytes: number;
  /** Called when a message has begun and is not complete: it is then reassembled in the memory that is returned. */
  readonly begin: () => UnfinishedRequest;
  /**
   * Handles a message. Its bytes are valid until this returns, or until the returned promise settles; then the next
   * message follows. `push` rethrows its errors.
   */
  readonly message: (message: Buffer) => Promise<void> | undefined;
}

/** Splits a gRPC request body into messages, synchronously where neither memory nor the handler has to be awaited. */
export class MessageReader {
  readonly #options: MessageReaderOptions;
  #received = new ByteQueue();
  /** Length of the message whose prefix was read. */
  #length: number | undefined;
  /** The message that is being reassembled, and its buffer. */
  #unfinished: UnfinishedRequest | undefined;
  #buffer: Buffer | undefined;
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

  /** Stops reading and releases the memory. */
  close(): void {
    this.#closed = true;
    this.#received = new ByteQueue();
    if (!this.#delivering) this.#release();
  }

  #read(): Promise<void> | undefined {
    while (!this.#closed) {
      if (this.#length === undefined) {
        const prefix = this.#received.take(framePrefixLength);
        if (prefix === undefined) return this.#keepPartOfPrefix();
        this.#length = lengthIn(prefix, this.#options.maxBytes);
      }
      if (this.#buffer === undefined && this.#received.length < this.#length) {
        this.#unfinished ??= this.#options.begin();
        const buffer = this.#unfinished.reserve(this.#length);
        if (buffer instanceof Promise) return buffer.then((each) => (this.#use(each), this.#read()));
        this.#use(buffer);
      }
      const message = this.#message(this.#length);
      if (message === undefined) return undefined;
      this.#length = undefined;
      const busy = this.#deliver(message);
      if (busy !== undefined) return busy.then(() => this.#read());
    }
    return undefined;
  }

  /** Copies the bytes: a chunk of one byte may be part of a large block of memory. */
  #keepPartOfPrefix(): undefined {
    const { length } = this.#received;
    if (length === 0) return undefined;
    this.#unfinished ??= this.#options.begin();
    const copy = Buffer.allocUnsafeSlow(length);
    this.#received.moveTo(copy, 0, length);
    this.#received.push(copy);
    return undefined;
  }

  #use(buffer: Buffer): void {
    if (this.#closed) this.#release();
    else this.#buffer = buffer;
  }

  /** Returns the message once all of it was received. */
  #message(length: number): Buffer | undefined {
    if (this.#buffer === undefined || this.#unfinished === undefined) return this.#received.take(length);
    const { filled } = this.#unfinished;
    this.#unfinished.filled += this.#received.moveTo(this.#buffer, filled, length - filled);
    return this.#unfinished.filled < length ? undefined : this.#buffer.subarray(0, length);
  }

  #deliver(message: Buffer): Promise<void> | undefined {
    let busy: Promise<void> | undefined;
    this.#delivering = true;
    this.#unfinished?.completed();
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
    this.#unfinished?.release();
    this.#unfinished = undefined;
    this.#buffer = undefined;
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
