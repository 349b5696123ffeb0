import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { encodeFrame, type Frame, framePrefixLength, FrameReader, WireError } from "@istiod/protobuf-wire";
import { reasonOf } from "@istiod/runtime";
import { AgentError } from "../errors.js";

/** Callbacks of a reader of responses. Errors of `message` are passed to `failed`. */
export interface ResponseEvents {
  /** An uncompressed response. */
  message(frame: Frame): void;
  /** Reports whether responses are to be held back. */
  isFull(): boolean;
  /** Called when all responses have been passed on. */
  drained(): void;
  /** Called when a response cannot be read. */
  failed(error: unknown): void;
}

const decompress = promisify(gunzip);
/** Bytes that are decompressed in one task of libuv's pool. Node's default of 16 KiB takes twice the CPU. */
const chunkSize = 256 * 1024;

/** Reads istiod's responses, in order, and decompresses those that are compressed. */
export class ResponseReader {
  /** Value of the header `grpc-encoding`. */
  encoding = "identity";

  readonly #maxBytes: number;
  readonly #events: ResponseEvents;
  readonly #reader: FrameReader;
  #waiting: Frame[] = [];
  #isClosed = false;
  #isDecompressing = false;

  /** @param maxBytes maximum size of a response, before and after decompression */
  constructor(maxBytes: number, events: ResponseEvents) {
    this.#maxBytes = maxBytes;
    this.#events = events;
    this.#reader = new FrameReader(maxBytes, { acceptsCompressed: true });
  }

  /** Reports whether responses are held back: no more bytes should be pushed then. */
  get isBusy(): boolean {
    return this.#isDecompressing || this.#waiting.length > 0;
  }

  push(bytes: Buffer): void {
    try {
      this.#waiting.push(...this.#reader.push(bytes));
    } catch (error) {
      return this.#events.failed(error);
    }
    this.continue();
  }

  /** Discards the responses that are held back, or are being decompressed. */
  close(): void {
    this.#isClosed = true;
    this.#waiting = [];
  }

  /** Continues once there is room for responses again. */
  continue(): void {
    if (this.#isDecompressing || this.#isClosed) return;
    try {
      while (!this.#events.isFull()) {
        const frame = this.#waiting.shift();
        if (frame === undefined) return this.#events.drained();
        if (frame.isCompressed) return void this.#decompress(frame);
        this.#events.message(frame);
      }
    } catch (error) {
      this.#events.failed(error);
    }
  }

  async #decompress({ message }: Frame): Promise<void> {
    this.#isDecompressing = true;
    try {
      if (this.encoding !== "gzip")
        throw new AgentError("discovery", `response is compressed with an unknown encoding: ${this.encoding}`);
      const bytes = encodeFrame(await decompress(message, { chunkSize, maxOutputLength: this.#maxBytes }));
      if (this.#isClosed) return;
      this.#events.message({ bytes, message: bytes.subarray(framePrefixLength), isCompressed: false });
    } catch (error) {
      if (!this.#isClosed) this.#events.failed(this.#reason(error));
      return;
    } finally {
      this.#isDecompressing = false;
    }
    this.continue();
  }

  #reason(error: unknown): unknown {
    const code = (error as { readonly code?: unknown }).code;
    if (code === "ERR_BUFFER_TOO_LARGE")
      return new WireError("too-long", `gRPC message larger than max (${this.#maxBytes}) after decompression`);
    if (typeof code !== "string" || !code.startsWith("Z_")) return error;
    return new AgentError("discovery", `cannot decompress a response: ${reasonOf(error)}`, { cause: error });
  }
}
