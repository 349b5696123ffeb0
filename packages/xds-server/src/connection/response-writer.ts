import { extensionConfigType, secretType } from "@istiod/resources";
import type { XdsResponse } from "../protocol/ads-stream.js";
import type { Sliced } from "../sliced.js";
import type { Answer } from "../source.js";
import type { Call, OutgoingMessage } from "../transport/call.js";
import { encodeOnDemandResponse } from "../wire/on-demand-response.js";
import { encodeResponseHead } from "../wire/response-head.js";
import type { ServerContext } from "./server-context.js";

type WriterContext = Pick<ServerContext<never>, "bodies" | "compressor" | "clock" | "maxOutstandingBytes">;

/** Encodes the responses of one call, and tracks whether the client reads them. */
export class ResponseWriter {
  readonly #call: Call;
  readonly #context: WriterContext;
  /** Time of the last write to the network, or of the first response since nothing was outstanding. */
  #progressAt = 0;
  #handedOverAt = 0;
  #roomFreed: (() => void) | undefined;

  constructor(call: Call, context: WriterContext) {
    this.#call = call;
    this.#context = context;
  }

  /** Reports whether the client must read before the next response. */
  get full(): boolean {
    return this.#call.outstandingBytes > this.#context.maxOutstandingBytes;
  }

  /** Resolves when the client has read enough for the next response, or the writer was closed. */
  untilRoom(): Promise<void> {
    return this.full ? new Promise((resolve) => (this.#roomFreed = resolve)) : Promise.resolve();
  }

  /** Ends waiting for the client, which has gone. */
  close(): void {
    this.#roomFreed?.();
  }

  get copiedBytes(): number {
    return this.#call.copies ? this.#call.outstandingBytes : 0;
  }

  /**
   * Time since which the client has not read anything, in milliseconds since the epoch; undefined if nothing is
   * outstanding.
   */
  get stalledSince(): number | undefined {
    return this.#call.outstandingBytes > 0 ? this.#progressAt : undefined;
  }

  /** Encodes and sends a response. Returns its length in bytes, before compression. */
  *write({ typeUrl, nonce, version, selection }: XdsResponse): Sliced<number> {
    const head = encodeResponseHead(typeUrl, nonce, version);
    const bodies = yield* this.#context.bodies.encode(this.#call.method.variant, typeUrl, selection);
    const length = bodies.reduce((sum, body) => sum + body.length, head.length);
    const compressed = this.#compresses(typeUrl) ? yield* this.#context.compressor.compress(head, bodies) : undefined;
    this.#handOver({ head, bodies, length, compressed });
    return length;
  }

  /** Encodes and sends the response to an on-demand request. Returns its length in bytes. */
  writeAnswer(typeUrl: string, nonce: string, answer: Answer): number {
    const head = encodeOnDemandResponse(this.#call.method.variant, typeUrl, nonce, answer);
    this.#handOver({ head, bodies: [], length: head.length });
    return head.length;
  }

  /** Bytes were written. Returns the milliseconds since the first of them was handed over once none are outstanding. */
  progressed(): number | undefined {
    this.#progressAt = this.#context.clock.now();
    if (!this.full) this.#roomFreed?.();
    return this.#call.outstandingBytes === 0 ? this.#progressAt - this.#handedOverAt : undefined;
  }

  /**
   * Types with secrets are not compressed: the length of a compressed secret could reveal some of it to the network.
   * Extension configurations have the pull secrets of Wasm modules.
   */
  #compresses(typeUrl: string): boolean {
    return this.#call.acceptsGzip === true && typeUrl !== secretType && typeUrl !== extensionConfigType;
  }

  #handOver(message: OutgoingMessage): void {
    if (this.#call.outstandingBytes === 0) this.#progressAt = this.#handedOverAt = this.#context.clock.now();
    this.#call.send(message);
  }
}
