import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { parseTimeout, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import type { Clock } from "@istiod/runtime";
import type { LoopTimers } from "@istiod/tls-admission";
import type { Sliced } from "../sliced.js";
import type { Peer } from "../source.js";
import { decodeRequest, type XdsRequest } from "../wire/request.js";
import type { Call, CallHandler, DiscoveryMethod, OutgoingMessage } from "./call.js";
import type { LimitObserver } from "../limits/limit-reason.js";
import type { PeerIdentity } from "../limits/peer-key.js";
import type { AcceptedConnection } from "./accepted-connection.js";
import { peerOf } from "./peer.js";
import { StreamWriter } from "./stream-writer.js";
import type { WriteSlots } from "./write-slots.js";
import { readRequests, type RequestLimits } from "./request-intake.js";

/** A connection on which not even RST_STREAM can be sent is destroyed after this time. */
const resetTimeoutMs = 1000;

export interface GrpcCallOptions {
  readonly clock: Clock;
  readonly connection: AcceptedConnection;
  /** Limits the bytes that encrypted connections copy; absent in plaintext. */
  readonly slots: WriteSlots | undefined;
  /** Compresses messages if the client accepts it. */
  readonly compression: boolean;
}

/** A gRPC call on a Node HTTP/2 stream. */
export class GrpcCall implements Call {
  readonly peer: Peer;
  readonly method: DiscoveryMethod;
  readonly copies = false;
  readonly acceptsGzip: boolean;

  readonly #headers: IncomingHttpHeaders;
  readonly #stream: ServerHttp2Stream;
  readonly #connection: AcceptedConnection;
  readonly #clock: Clock;
  readonly #writer: StreamWriter;
  #handler: CallHandler | undefined;
  #ended: { readonly error: ConnectError | undefined } | undefined;
  #timers: LoopTimers | undefined;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    method: DiscoveryMethod,
    { clock, connection, slots, compression }: GrpcCallOptions,
  ) {
    this.#stream = stream;
    this.#writer = new StreamWriter(stream, { clock, slots, progressed: () => this.#progressed() });
    this.#connection = connection;
    this.#headers = headers;
    this.#clock = clock;
    this.acceptsGzip = compression && acceptsGzip(headers);
    this.method = method;
    this.peer = peerOf(stream.session as Parameters<typeof peerOf>[0], headers);
  }

  get outstandingBytes(): number {
    return this.#writer.outstandingBytes;
  }

  get identity(): PeerIdentity {
    return this.#connection.identity;
  }

  admitted(identity: string | undefined): void {
    this.#connection.admitted(identity);
  }

  /** Passes the requests of the call to the handler, once it is admitted and until it is closed. */
  serve(handler: CallHandler, limits: RequestLimits, limited: LimitObserver): void {
    const stream = this.#stream;
    this.#handler = handler;
    this.#timers = limits.timers;
    const { error, timeoutMs } = this.#deadline();
    const cancel =
      timeoutMs === undefined ? undefined : this.#clock.after(timeoutMs, () => this.end(deadlineExceeded()));
    let stopReading: () => void = () => undefined;
    stream.on("error", () => undefined);
    stream.once("close", () => {
      cancel?.();
      stopReading();
      this.#writer.close();
      handler.closed(closeReason(stream));
    });
    if (error !== undefined) return this.end(error);
    const read = (): void => {
      if (stream.destroyed || this.#ended !== undefined) return void stream.resume();
      stopReading = readRequests(stream, this.identity.key, limits, {
        message: (message) => handler.request(this.#decode(message), message.length),
        halfClosed: () => handler.halfClosed(),
        failed: (failure, reason) => {
          if (reason !== undefined) limited(reason, this.identity.key);
          this.end(connectErrorOf(failure));
        },
      });
    };
    // The handler ends a call that is not admitted; what the client sends is then discarded.
    handler.admitted.then(read, () => void stream.resume());
  }

  send(message: OutgoingMessage): void {
    if (this.#ended !== undefined || this.#stream.destroyed) return;
    this.#sendHeaders();
    this.#writer.write(message);
  }

  end(error?: ConnectError): void {
    if (this.#ended !== undefined) return;
    this.#ended = { error };
    if (this.#writer.idle) this.#finish();
  }

  abort(): void {
    this.#ended ??= { error: undefined };
    this.#stream.close(constants.NGHTTP2_CANCEL);
    const cancel = this.#clock.after(resetTimeoutMs, () => this.#connection.destroy());
    this.#stream.once("close", cancel);
  }

  #sendHeaders(): void {
    if (this.#stream.headersSent) return;
    this.#stream.respond(
      {
        ":status": 200,
        "content-type": "application/grpc",
        "grpc-accept-encoding": "identity",
        ...(this.acceptsGzip && { "grpc-encoding": "gzip" }),
      },
      { waitForTrailers: true },
    );
  }

  #progressed(): void {
    if (this.#ended === undefined) this.#handler?.progressed();
    else if (this.#writer.idle) this.#finish();
  }

  #finish(): void {
    if (this.#stream.destroyed || this.#stream.writableEnded) return;
    const status = Object.fromEntries(setTrailerStatus(new Headers(), this.#ended?.error));
    this.#stream.once("wantTrailers", () => this.#stream.sendTrailers(status));
    this.#sendHeaders();
    this.#stream.end();
    // Some clients keep their sending side open until the stream is reset.
    this.#stream.once("finish", () => {
      const cancel = this.#timers?.after(resetTimeoutMs, () => this.#stream.close(constants.NGHTTP2_NO_ERROR));
      if (cancel !== undefined) this.#stream.once("close", cancel);
    });
  }

  *#decode(message: Buffer): Sliced<XdsRequest> {
    try {
      return yield* decodeRequest(this.method.variant, message);
    } catch (error) {
      throw new ConnectError("cannot decode the request", Code.Internal, undefined, undefined, error);
    }
  }

  #deadline(): { timeoutMs?: number; error?: ConnectError | undefined } {
    const header = this.#headers["grpc-timeout"];
    return typeof header === "string" ? parseTimeout(header, Number.MAX_SAFE_INTEGER) : {};
  }
}

function acceptsGzip(headers: IncomingHttpHeaders): boolean {
  const accepted = headers["grpc-accept-encoding"];
  const encodings = Array.isArray(accepted) ? accepted : [accepted ?? ""];
  return encodings.some((list) => list.split(",").some((encoding) => encoding.trim() === "gzip"));
}

function connectErrorOf(failure: unknown): ConnectError {
  if (failure instanceof ConnectError) return failure;
  return new ConnectError("internal error", Code.Internal, undefined, undefined, failure);
}

function deadlineExceeded(): ConnectError {
  return new ConnectError("deadline exceeded", Code.DeadlineExceeded);
}

function closeReason(stream: ServerHttp2Stream): string {
  const code = stream.rstCode ?? 0;
  if (code === constants.NGHTTP2_NO_ERROR) return "the stream ended";
  return code === constants.NGHTTP2_CANCEL ? "the stream was cancelled" : `the stream was reset (HTTP/2 error ${code})`;
}
