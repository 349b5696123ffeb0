import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { parseTimeout, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import type { Clock } from "../clock.js";
import type { Peer } from "../source.js";
import { decodeRequest, type XdsRequest } from "../wire/request.js";
import type { Call, CallHandler, DiscoveryMethod, OutgoingMessage } from "./call.js";
import { MessageReader, prefixed } from "./grpc-messages.js";
import type { LongMessages } from "./long-messages.js";
import { peerOf } from "./peer.js";

/** As much is given to HTTP/2 at once. */
const bytesAtOnce = 1024 * 1024;
/** So often it is looked whether a slow client takes some of that: this much, as pings and the like are written to one that takes nothing. */
const progressMs = 5000;
const progressBytes = 1024;
/** A connection on which not even a reset can be sent is dropped after so long. */
const resetTimeoutMs = 1000;

/** A gRPC call on an HTTP/2 stream of Node. Shared bodies are written as they are: Node does not copy them. */
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
  /** Bodies of responses that are not written yet, so that they are found while they are. */
  #held: OutgoingMessage[] = [];
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

  /** Gives the requests of the call to the handler, until the call is over. */
  serve(handler: CallHandler, maxRequestBytes: number, buffers: LongMessages): void {
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
      this.#held = [];
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
      // What was reset has ended as well, and is told of by "close".
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
    const head = prefixed(message.head, message.length);
    this.outstandingBytes += message.length - message.head.length + head.length;
    this.#unsent.push(head);
    for (const body of message.bodies) for (const piece of body.pieces) this.#unsent.push(piece);
    this.#held.push(message);
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
      const room = bytesAtOnce - bytes;
      batch.push(next.length <= room ? next : next.subarray(0, room));
      bytes += Math.min(next.length, room);
      if (next.length >= room) break;
    }
    if (next !== undefined && bytes === bytesAtOnce) {
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

  /** What the connection has sent so far. Flow control holds back what its client does not take. */
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
      this.#held = [];
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
    // Some clients wait for the reset before they take the status as the end of their own sending.
    this.#stream.once("finish", () =>
      this.#clock.after(resetTimeoutMs, () => this.#stream.close(constants.NGHTTP2_NO_ERROR)),
    );
  }

  #decode(message: Buffer): XdsRequest {
    try {
      return decodeRequest(this.method.variant, message);
    } catch (error) {
      throw new ConnectError("the request cannot be decoded", Code.Internal, undefined, undefined, error);
    }
  }

  #deadline(): { timeoutMs?: number; error?: ConnectError | undefined } {
    const header = this.#headers["grpc-timeout"];
    return typeof header === "string" ? parseTimeout(header, Number.MAX_SAFE_INTEGER) : {};
  }
}

function deadlineExceeded(): ConnectError {
  return new ConnectError("the client's deadline has passed", Code.DeadlineExceeded);
}

function closeReason(stream: ServerHttp2Stream): string {
  const code = stream.rstCode ?? 0;
  if (code === constants.NGHTTP2_NO_ERROR) return "the stream ended";
  return code === constants.NGHTTP2_CANCEL ? "the stream was cancelled" : `the stream was reset (HTTP/2 error ${code})`;
}
