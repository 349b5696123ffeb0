import type { ServerHttp2Stream } from "node:http2";
import { encodeFrame } from "@istiod/protobuf-wire";
import type { Clock } from "@istiod/runtime";
import type { OutgoingMessage } from "./call.js";
import type { WriteSlots } from "./write-slots.js";

/** Bytes passed to a plaintext HTTP/2 stream in one batch. They are referenced until they are written. */
const batchBytes = 1024 * 1024;
/**
 * Bytes passed to an encrypted stream in one batch. TLS copies a batch and encrypts all of it before the first byte is
 * written to the socket. With the headers of its HTTP/2 frames (9 bytes before each 16,384), a batch fills 4 records.
 */
const encryptedBatchBytes = 4 * (16_384 - 9);
/** The same for a client that reads slowly, which has lost its slot: 2 records. */
const slowBatchBytes = 2 * (16_384 - 9);
/**
 * Interval of progress checks while a batch is written, and the bytes that count as progress: pings are written to
 * stalled clients, too.
 */
const progressMs = 5000;
const progressBytes = 1024;

export interface StreamWriterOptions {
  readonly clock: Clock;
  /** Limits copies; for encrypted connections only. */
  readonly slots: WriteSlots | undefined;
  /** Called after bytes were written. */
  readonly progressed: () => void;
}

/**
 * Writes messages to an HTTP/2 stream in batches, the next one after the last one was written. Shared bodies are passed
 * by reference; Node does not copy them on plaintext connections.
 */
export class StreamWriter {
  outstandingBytes = 0;

  readonly #stream: ServerHttp2Stream;
  readonly #options: StreamWriterOptions;
  #unsent: Uint8Array[] = [];
  /**
   * Uncompressed responses being written: the body cache holds bodies weakly, and finds them while they are referenced
   * here. Those of compressed responses would hold many times the bytes that are written.
   */
  #unwritten: OutgoingMessage[] = [];
  #writing = false;
  /** Set while this writer waits for a slot or holds one, and after it has lost it, until everything is written. */
  #slotRequested = false;
  #stopWatching: (() => void) | undefined;

  constructor(stream: ServerHttp2Stream, options: StreamWriterOptions) {
    this.#stream = stream;
    this.#options = options;
  }

  /** Reports whether everything is written. */
  get idle(): boolean {
    return !this.#writing && this.#unsent.length === 0;
  }

  /** Queues a message. */
  write(message: OutgoingMessage): void {
    const { compressed } = message;
    if (compressed === undefined) {
      this.#push(encodeFrame(message.head, message.length));
      for (const body of message.bodies) for (const piece of body.pieces) this.#push(piece);
      this.#unwritten.push(message);
    } else {
      this.#push(encodeFrame(new Uint8Array(), compressed.length, { isCompressed: true }));
      for (const piece of compressed.pieces) this.#push(piece);
    }
    if (!this.#writing && !this.#slotRequested) this.#continue();
  }

  granted(): void {
    this.#writeBatch();
  }

  /** Forgets what is not written. Called when the stream is closed. */
  close(): void {
    this.#stopWatching?.();
    this.#options.slots?.release(this);
    this.#unsent = [];
    this.#unwritten = [];
    this.outstandingBytes = 0;
  }

  #push(piece: Uint8Array): void {
    this.#unsent.push(piece);
    this.outstandingBytes += piece.length;
  }

  #continue(): void {
    const { slots } = this.#options;
    if (slots === undefined || this.#slotRequested || this.outstandingBytes <= slowBatchBytes) this.#writeBatch();
    else {
      this.#slotRequested = true;
      this.#stopWatching ??= this.#watchProgress(this.#bytesWritten);
      slots.request(this);
    }
  }

  #writeBatch(): void {
    if (this.#writing || this.#stream.destroyed || this.#unsent.length === 0) return;
    const { batch, bytes } = this.#takeBatch(this.#startBatch());
    this.#writing = true;
    this.#stopWatching ??= this.#watchProgress(this.#bytesWritten);
    this.#stream.cork();
    for (const piece of batch.slice(0, -1)) this.#stream.write(piece);
    this.#stream.write(batch.at(-1), (error) => {
      this.#writing = false;
      this.#options.slots?.endBatch(this);
      if (error == null) this.#written(bytes);
    });
    this.#stream.uncork();
  }

  /** Returns the size of the next batch. */
  #startBatch(): number {
    const { slots } = this.#options;
    if (slots === undefined) return batchBytes;
    return slots.startBatch(this) ? encryptedBatchBytes : slowBatchBytes;
  }

  #takeBatch(maxBytes: number): { batch: Uint8Array[]; bytes: number } {
    const batch: Uint8Array[] = [];
    let bytes = 0;
    let taken = 0;
    for (const piece of this.#unsent) {
      const room = maxBytes - bytes;
      if (piece.length > room) {
        if (room > 0) batch.push(piece.subarray(0, room));
        this.#unsent[taken] = piece.subarray(room);
        bytes = maxBytes;
        break;
      }
      batch.push(piece);
      bytes += piece.length;
      taken++;
    }
    this.#unsent.splice(0, taken);
    return { batch, bytes };
  }

  #written(bytes: number): void {
    this.outstandingBytes -= bytes;
    if (this.#unsent.length > 0) this.#continue();
    else {
      this.#unwritten = [];
      this.#slotRequested = false;
      this.#options.slots?.release(this);
      this.#stopWatching?.();
      this.#stopWatching = undefined;
    }
    this.#options.progressed();
  }

  /** Bytes sent on the connection. Flow control holds back bytes that the client does not read. */
  get #bytesWritten(): number {
    return this.#stream.session?.socket.bytesWritten ?? 0;
  }

  /**
   * Reports progress within a batch at intervals. While this writer waits for a slot, the client is not to blame.
   * Returns a function that stops this.
   */
  #watchProgress(from: number): () => void {
    return this.#options.clock.after(progressMs, () => {
      if (this.#stream.destroyed) return;
      const now = this.#bytesWritten;
      const progressed = !this.#writing || now >= from + progressBytes;
      this.#stopWatching = this.#watchProgress(progressed ? now : from);
      if (progressed) this.#options.progressed();
    });
  }
}
