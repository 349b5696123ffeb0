import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { parseTimeout, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { encodeFrame } from "@istiod/protobuf-wire";
import type { Clock } from "@istiod/settings";
import type { Peer } from "../source.js";
import { decodeRequest, type XdsRequest } from "../wire/request.js";
import type { Call, CallHandler, DiscoveryMethod, OutgoingMessage } from "./call.js";
import { MessageReader } from "./message-reader.js";
import type { MessageBuffers } from "./message-buffers.js";
import { peerOf } from "./peer.js";

/** Bytes passed to the HTTP/2 stream in one batch. */
const batchBytes = 1024 * 1024;
/**
 * Interval of progress checks while a batch is written, and the bytes that count as progress: pings are written to
 * stalled clients, too.
 */
const progressMs = 5000;
const progressBytes = 1024;
/** A connection on which not even RST_STREAM can be sent is destroyed after this time. */
const resetTimeoutMs = 1000;

/** A gRPC call on a Node HTTP/2 stream. Shared bodies are written by reference; Node does not copy them. */
export class GrpcCall implements Call {
  readonly peer: Peer;
  readonly method: DiscoveryMethod;
  readonly copies = false;
  outstandingBytes = 0;

  readonly #headers: IncomingHttpHeaders;
  readonly #stream: ServerHttp2Stream;
  readonly #clock: Clock;
  #handler: CallHandler | undefined;
  #unsent: Uint8Array[] = [];
  /** Responses being written: the body cache holds bodies weakly, and finds them while they are referenced here. */
  #unwritten: OutgoingMessage[] = [];
  #writing = false;
  #stopWatching: () => void = () => undefined;
  #ended: { readonly error: ConnectError | undefined } | undefined;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, method: DiscoveryMethod, clock: Clock) {
    this.#stream = stream;
    this.#headers = headers;
    this.#clock = clock;
    this.method = method;
    this.peer = peerOf(stream.session as Parameters<typeof peerOf>[0], headers);
  }

  /** Passes the requests of the call to the handler until the call is closed. */
  serve(handler: CallHandler, maxRequestBytes: number, buffers: MessageBuffers): void {
    const stream = this.#stream;
    this.#handler = handler;
    const { error, timeoutMs } = this.#deadline();
    const cancel =
      timeoutMs === undefined ? undefined : this.#clock.after(timeoutMs, () => this.end(deadlineExceeded()));
    const reader = new MessageReader({
      maxBytes: maxRequestBytes,
      buffers,
      message: (message) => handler.request(this.#decode(message), message.length),
    });
    const failed = (failure: unknown): void => {
      stream.removeAllListeners("data").resume();
      reader.close();
      this.end(
        failure instanceof ConnectError
          ? failure
          : new ConnectError("internal error", Code.Internal, undefined, undefined, failure),
      );
    };
    stream.on("error", () => undefined);
    stream.once("close", () => {
      cancel?.();
      reader.close();
      this.#stopWatching();
      this.#unsent = [];
      this.#unwritten = [];
      this.outstandingBytes = 0;
      handler.closed(closeReason(stream));
    });
    if (error !== undefined) return this.end(error);
    stream.on("data", (chunk: Buffer) => {
      try {
        const busy = reader.push(chunk);
        if (busy === undefined) return;
        stream.pause();
        busy.then(() => stream.resume(), failed);
      } catch (failure) {
        failed(failure);
      }
    });
    stream.once("end", () => {
      // A reset stream ends as well; "close" reports it.
      if (stream.closed) return;
      try {
        reader.end();
        handler.halfClosed();
      } catch (failure) {
        failed(failure);
      }
    });
  }

  send(message: OutgoingMessage): void {
    if (this.#ended !== undefined || this.#stream.destroyed) return;
    this.#sendHeaders();
    const head = encodeFrame(message.head, message.length);
    this.outstandingBytes += message.length - message.head.length + head.length;
    this.#unsent.push(head);
    for (const body of message.bodies) for (const piece of body.pieces) this.#unsent.push(piece);
    this.#unwritten.push(message);
    this.#write();
  }

  end(error?: ConnectError): void {
    if (this.#ended !== undefined) return;
    this.#ended = { error };
    if (!this.#writing) this.#finish();
  }

  abort(): void {
    const { session } = this.#stream;
    this.#ended ??= { error: undefined };
    this.#stream.close(constants.NGHTTP2_CANCEL);
    const cancel = this.#clock.after(resetTimeoutMs, () => session?.destroy());
    this.#stream.once("close", cancel);
  }

  #sendHeaders(): void {
    if (this.#stream.headersSent) return;
    this.#stream.respond(
      { ":status": 200, "content-type": "application/grpc", "grpc-accept-encoding": "identity" },
      { waitForTrailers: true },
    );
  }

  #write(): void {
    if (this.#writing || this.#stream.destroyed) return;
    const batch: Uint8Array[] = [];
    let bytes = 0;
    let next = this.#unsent.shift();
    for (; next !== undefined; next = this.#unsent.shift()) {
      const room = batchBytes - bytes;
      batch.push(next.length <= room ? next : next.subarray(0, room));
      bytes += Math.min(next.length, room);
      if (next.length >= room) break;
    }
    if (next !== undefined && bytes === batchBytes) {
      const last = batch.at(-1)?.length ?? 0;
      if (last < next.length) this.#unsent.unshift(next.subarray(last));
    }
    if (batch.length === 0) return;
    this.#writing = true;
    this.#watchProgress(this.#bytesWritten);
    this.#stream.cork();
    for (const piece of batch.slice(0, -1)) this.#stream.write(piece);
    this.#stream.write(batch.at(-1), (error) => {
      this.#writing = false;
      this.#stopWatching();
      if (error == null) this.#written(bytes);
    });
    this.#stream.uncork();
  }

  /** Bytes sent on the connection. Flow control holds back bytes that the client does not read. */
  get #bytesWritten(): number {
    return this.#stream.session?.socket.bytesWritten ?? 0;
  }

  #watchProgress(from: number): void {
    this.#stopWatching = this.#clock.after(progressMs, () => {
      if (this.#stream.destroyed) return;
      const now = this.#bytesWritten;
      const progressed = now >= from + progressBytes;
      this.#watchProgress(progressed ? now : from);
      if (progressed) this.#handler?.progressed();
    });
  }

  #written(bytes: number): void {
    this.outstandingBytes -= bytes;
    if (this.#unsent.length > 0) this.#write();
    else {
      this.#unwritten = [];
      if (this.#ended !== undefined) this.#finish();
    }
    if (this.#ended === undefined) this.#handler?.progressed();
  }

  #finish(): void {
    if (this.#stream.destroyed || this.#stream.writableEnded) return;
    const status = Object.fromEntries(setTrailerStatus(new Headers(), this.#ended?.error));
    this.#stream.once("wantTrailers", () => this.#stream.sendTrailers(status));
    this.#sendHeaders();
    this.#stream.end();
    // Some clients keep their sending side open until the stream is reset.
    this.#stream.once("finish", () =>
      this.#clock.after(resetTimeoutMs, () => this.#stream.close(constants.NGHTTP2_NO_ERROR)),
    );
  }

  #decode(message: Buffer): XdsRequest {
    try {
      return decodeRequest(this.method.variant, message);
    } catch (error) {
      throw new ConnectError("cannot decode the request", Code.Internal, undefined, undefined, error);
    }
  }

  #deadline(): { timeoutMs?: number; error?: ConnectError | undefined } {
    const header = this.#headers["grpc-timeout"];
    return typeof header === "string" ? parseTimeout(header, Number.MAX_SAFE_INTEGER) : {};
  }
}

function deadlineExceeded(): ConnectError {
  return new ConnectError("deadline exceeded", Code.DeadlineExceeded);
}

function closeReason(stream: ServerHttp2Stream): string {
  const code = stream.rstCode ?? 0;
  if (code === constants.NGHTTP2_NO_ERROR) return "the stream ended";
  return code === constants.NGHTTP2_CANCEL ? "the stream was cancelled" : `the stream was reset (HTTP/2 error ${code})`;
}
