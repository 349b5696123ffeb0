import { Code, ConnectError } from "@connectrpc/connect";
import type { LongMessages } from "./long-messages.js";

const prefixLength = 5;

/** From this length on, a message is put together in a buffer that others use after it. */
const long = 64 * 1024;

export interface MessageReaderOptions {
  /** Longer messages are refused. */
  readonly maxBytes: number;
  /** Absent: each long message has a buffer of its own. */
  readonly buffers?: LongMessages;
  /**
   * Takes a message, whose bytes stand until it is done with it: until this returns, or the promise that it gives is settled. The next one is given to it then.
   * What it throws comes out of `push`.
   */
  readonly message: (message: Buffer) => Promise<void> | undefined;
}

/** Splits a gRPC request body into its messages, without waiting where nobody has to be waited for. */
export class MessageReader {
  readonly #options: MessageReaderOptions;
  #chunks: Buffer[] = [];
  #available = 0;
  /** Of the message whose prefix was read. */
  #length: number | undefined;
  /** Where that message is put together, if it is long, and how much of it is there. */
  #long: Buffer | undefined;
  #filled = 0;
  #delivering = false;
  #closed = false;

  constructor(options: MessageReaderOptions) {
    this.#options = options;
  }

  /**
   * Takes more of the body. Gives a promise if somebody has to be waited for before there may be more.
   *
   * @throws ConnectError `ResourceExhausted` for a message that is too long, `Unimplemented` for a compressed one
   */
  push(chunk: Buffer): Promise<void> | undefined {
    this.#chunks.push(chunk);
    this.#available += chunk.length;
    return this.#read();
  }

  /**
   * The body is complete.
   *
   * @throws ConnectError `InvalidArgument` if that is within a message
   */
  end(): void {
    if (this.#available > 0 || this.#length !== undefined)
      throw new ConnectError("the request ends within a message", Code.InvalidArgument);
  }

  /** There is no more to come, wherever that is: gives back what is held. */
  close(): void {
    this.#closed = true;
    if (!this.#delivering) this.#giveBack();
  }

  #read(): Promise<void> | undefined {
    while (!this.#closed) {
      if (this.#length === undefined) {
        if (this.#available < prefixLength) return undefined;
        this.#length = lengthIn(this.#take(prefixLength), this.#options.maxBytes);
        const buffer = this.#length >= long ? this.#options.buffers?.take(this.#length) : undefined;
        if (buffer instanceof Promise) return buffer.then((each) => this.#hold(each)).then(() => this.#read());
        if (buffer !== undefined) this.#hold(buffer);
      }
      const message = this.#message(this.#length);
      if (message === undefined) return undefined;
      this.#length = undefined;
      const busy = this.#deliver(message);
      if (busy !== undefined) return busy.then(() => this.#read());
    }
    return undefined;
  }

  #hold(buffer: Buffer): void {
    this.#long = buffer;
    this.#filled = 0;
    if (this.#closed) this.#giveBack();
  }

  /** The message, if all of it is there. */
  #message(length: number): Buffer | undefined {
    if (this.#long === undefined) return this.#available < length ? undefined : this.#take(length);
    while (this.#filled < length && this.#chunks[0] !== undefined) {
      const part = this.#chunks[0].subarray(0, length - this.#filled);
      this.#long.set(part, this.#filled);
      this.#filled += part.length;
      this.#drop(part.length);
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
    this.#giveBack();
  }

  #giveBack(): void {
    if (this.#long !== undefined) this.#options.buffers?.give(this.#long);
    this.#long = undefined;
  }

  /** So many bytes, which are there. */
  #take(count: number): Buffer {
    const [first] = this.#chunks;
    if (count === 0 || first === undefined) return Buffer.alloc(0);
    const joined = first.length >= count ? first : Buffer.concat(this.#chunks);
    if (joined !== first) this.#chunks = [joined];
    this.#drop(count);
    return joined.subarray(0, count);
  }

  /** Goes on by so many bytes of the first chunk. */
  #drop(count: number): void {
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
    throw new ConnectError(`the request has ${length} bytes, more than ${maxBytes}`, Code.ResourceExhausted);
  return length;
}

/** The bytes that precede a message on the wire, together with its first part. */
export function prefixed(head: Uint8Array, messageLength: number): Buffer {
  const buffer = Buffer.allocUnsafe(prefixLength + head.length);
  buffer.writeUInt8(0, 0);
  buffer.writeUInt32BE(messageLength, 1);
  buffer.set(head, prefixLength);
  return buffer;
}
