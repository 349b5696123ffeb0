import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { parseTimeout, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import {
  type IstioCertificateRequest,
  IstioCertificateRequestSchema,
  IstioCertificateResponseSchema,
} from "@istiod/istio-api/security/v1alpha1/ca";
import { encodeFrame } from "@istiod/protobuf-wire";
import { addressGroup } from "@istiod/peer-address";
import { type Clock, systemClock } from "@istiod/runtime";
import type { Caller } from "../identity/authenticator.js";
import { type Peer, peerOf } from "../identity/peer.js";
import type { RejectionReason } from "./certificate-events.js";
import { FairQueue } from "./fair-queue.js";
import { admitCaller, type AdmittedRequest, issue, type IssuanceOptions } from "./issuance.js";
import { SharedBudget } from "./shared-budget.js";
import { readUnaryMessage } from "./unary-message.js";

/** Limits of the requests in progress. */
export interface CertificateLimits {
  /** Authenticated requests that wait to be signed, over all callers. Default 5,000. */
  readonly maxQueued?: number;
  /**
   * Certificates being signed at the same time. Default 16: each needs two turns of the event loop, which are long
   * while thousands of clients connect. File reads wait for about four of them in the threads of libuv's pool.
   */
  readonly concurrency?: number;
  /** Time for a request to arrive, and the longest deadline, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
  /** Longest deadline of requests that have arrived, in milliseconds. Default: that of `timeoutMs`. */
  readonly signingTimeoutMs?: number;
}

export interface CertificateCallsOptions extends IssuanceOptions, CertificateLimits {
  readonly clock?: Clock;
}

/** Serves calls directly on HTTP/2 streams. */
export interface CertificateCalls {
  /** Handlers of gRPC calls by path, to be called with a request's headers before anything reads its body. */
  readonly handlers: ReadonlyMap<string, (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void>;
  /** Authenticated requests that wait to be signed. */
  queueLength(): number;
}

const path = "/istio.v1.auth.IstioCertificateService/CreateCertificate";

/** The CSR has at most 64 KiB; the rest is for the other fields. */
const maxRequestBytes = 96 * 1024;
/** Bytes of unfinished requests, over all callers and for each. */
const bodyBytes = { total: 32 * 1024 * 1024, perCaller: 4 * 1024 * 1024 };
/** Callers whose credentials are being checked: at the same time, and waiting. */
const authentications = { concurrency: 64, capacity: 10_000 };

/**
 * Serves `istio.v1.auth.IstioCertificateService`. Callers are authenticated by their headers, before a byte of the body
 * is read. Requests wait in bounded queues, which serve addresses, and later identities, in turn. A request whose
 * client has gone, or whose deadline has passed, is not signed.
 */
export function certificateCalls(options: CertificateCallsOptions): CertificateCalls {
  const { maxQueued = 5000, concurrency = 16 } = options;
  const queues: Queues = {
    arrivals: new FairQueue(authentications),
    signing: new FairQueue({ capacity: maxQueued, concurrency }),
    bodies: new SharedBudget(bodyBytes),
  };
  return {
    handlers: new Map([[path, (stream, headers) => new CertificateCall(stream, headers, options, queues).serve()]]),
    queueLength: () => queues.signing.length,
  };
}

interface Queues {
  /** Calls to be authenticated, by address. */
  readonly arrivals: FairQueue;
  /** Requests to be signed, by identity. */
  readonly signing: FairQueue;
  /** Bytes of unfinished requests, by identity. */
  readonly bodies: SharedBudget;
}

class CertificateCall {
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  readonly #options: CertificateCallsOptions;
  readonly #queues: Queues;
  readonly #peer: Peer;
  #caller: Caller | undefined;
  /** Aborted if the call ends before its answer. */
  readonly #ending = new AbortController();
  #stopTimer: () => void = () => undefined;
  #isOver = false;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    options: CertificateCallsOptions,
    queues: Queues,
  ) {
    this.#stream = stream;
    this.#headers = headers;
    this.#options = options;
    this.#queues = queues;
    this.#peer = peerOf({ stream, headers });
  }

  serve(): void {
    this.#stream.on("error", () => undefined);
    this.#stream.once("close", () => this.#over());
    const { error, timeoutMs } = this.#deadline(this.#options.timeoutMs ?? 10_000);
    if (error !== undefined) return this.#end(error);
    this.#stopTimer = (this.#options.clock ?? systemClock).after(timeoutMs, () => this.#timedOut());
    this.#queues.arrivals.push(
      addressGroup(this.#peer.address),
      () => this.#unlessOver(() => this.#authenticate()),
      () => this.#reject("queue-full", "too many requests"),
    );
  }

  async #authenticate(): Promise<void> {
    const admitted = await admitCaller(this.#peer, this.#options);
    this.#caller = admitted.caller;
    // Reading takes as long as the client does: it must not occupy a slot of the queue.
    void this.#unlessOver(() => this.#receive(admitted));
  }

  async #receive(admitted: AdmittedRequest): Promise<void> {
    const request = await this.#read(callerKey(admitted.caller));
    if (this.#isOver) return;
    this.#extendDeadline();
    this.#queues.signing.push(
      callerKey(admitted.caller),
      () =>
        this.#unlessOver(async () => this.#respond(await issue(request, admitted, this.#options, this.#ending.signal))),
      () => this.#reject("queue-full", "too many certificate requests are waiting"),
    );
  }

  async #read(caller: string): Promise<IstioCertificateRequest> {
    let held = 0;
    const reserve = (bytes: number): void => {
      if (!this.#queues.bodies.take(caller, bytes)) {
        this.#reject("too-many-bodies", "too many bytes of unfinished requests");
        throw new ConnectError("too many bytes of unfinished requests", Code.ResourceExhausted);
      }
      held += bytes;
    };
    try {
      return decode(
        await readUnaryMessage(this.#stream, { maxBytes: maxRequestBytes, reserve, signal: this.#ending.signal }),
      );
    } catch (error) {
      const isTooLarge = error instanceof ConnectError && error.code === Code.ResourceExhausted;
      if (!this.#isOver && !this.#stream.closed)
        this.#options.events?.rejected?.(isTooLarge ? "too-large" : "malformed", this.#peer, this.#caller);
      throw error;
    } finally {
      this.#queues.bodies.give(caller, held);
    }
  }

  /** Gives a request that has arrived the time that its issuer needs. */
  #extendDeadline(): void {
    const { signingTimeoutMs, clock = systemClock } = this.#options;
    if (signingTimeoutMs === undefined) return;
    this.#stopTimer();
    this.#stopTimer = clock.after(this.#deadline(signingTimeoutMs).timeoutMs, () => this.#timedOut());
  }

  #deadline(limit: number): { timeoutMs: number; error?: ConnectError | undefined } {
    const header = this.#headers["grpc-timeout"];
    const { timeoutMs = limit, error } =
      typeof header === "string" ? parseTimeout(header, Number.MAX_SAFE_INTEGER) : {};
    return { timeoutMs: Math.min(timeoutMs, limit), error };
  }

  #timedOut(): void {
    if (this.#isOver) return;
    this.#options.events?.rejected?.("timeout", this.#peer, this.#caller);
    this.#end(new ConnectError("deadline exceeded", Code.DeadlineExceeded));
  }

  /** Releases what the call holds. */
  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopTimer();
    this.#ending.abort();
  }

  async #unlessOver(step: () => Promise<void>): Promise<void> {
    if (this.#isOver) return;
    try {
      await step();
    } catch (error) {
      this.#end(error instanceof ConnectError ? error : new ConnectError("internal error", Code.Internal));
    }
  }

  #reject(reason: RejectionReason, message: string): void {
    if (this.#isOver) return;
    this.#options.events?.rejected?.(reason, this.#peer, this.#caller);
    this.#end(new ConnectError(message, Code.ResourceExhausted, { "grpc-retry-pushback-ms": String(retryDelayMs()) }));
  }

  #respond(certChain: string[]): void {
    if (this.#isOver) return;
    // Nothing waits any more: there is nothing to abort.
    this.#isOver = true;
    this.#stopTimer();
    const message = toBinary(IstioCertificateResponseSchema, create(IstioCertificateResponseSchema, { certChain }));
    this.#stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    this.#stream.once("wantTrailers", () => this.#stream.sendTrailers({ "grpc-status": "0" }));
    this.#stream.end(encodeFrame(message));
  }

  /** Ends the call with a status, and tells a client that is still sending to stop. */
  #end(error: ConnectError): void {
    if (this.#isOver || this.#stream.destroyed) return;
    this.#over();
    // Discards what is still arriving, so that it does not fill the connection's flow-control window.
    this.#stream.resume();
    const status = Object.fromEntries(setTrailerStatus(new Headers(), error));
    this.#stream.respond({ ":status": 200, "content-type": "application/grpc", ...status }, { endStream: true });
    // Since Node 26, a reset in the same turn overtakes the headers.
    setImmediate(() => this.#stream.close(constants.NGHTTP2_NO_ERROR));
  }
}

function decode(message: Buffer): IstioCertificateRequest {
  try {
    return fromBinary(IstioCertificateRequestSchema, message);
  } catch (error) {
    throw new ConnectError("cannot decode the request", Code.InvalidArgument, undefined, undefined, error);
  }
}

function callerKey({ identities }: Caller): string {
  return identities[0] ?? "";
}

/** Spreads retries over a second, so that rejected callers do not return at once. */
function retryDelayMs(): number {
  return 1000 + Math.floor(Math.random() * 1000);
}
