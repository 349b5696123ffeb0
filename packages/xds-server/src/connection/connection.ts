import { Code, ConnectError } from "@connectrpc/connect";
import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { WireError } from "@istiod/protobuf-wire";
import type { PushTarget } from "../push/push-queue.js";
import type { Connection as Snapshot } from "../api.js";
import type { Answer } from "../source.js";
import type { Call, CallHandler } from "../transport/call.js";
import { withTypeUrl } from "../transport/with-type-url.js";
import { checkRequest, shorten, tooMuch } from "../protocol/request-limits.js";
import { completed, sliceNames, type Sliced } from "../sliced.js";
import type { Receipt } from "../protocol/receipt.js";
import type { XdsRequest } from "../wire/request.js";
import type { Admission } from "./admission.js";
import { AnswerWriter } from "./answer-writer.js";
import { type AdmittedStream, admitStream } from "./admitted-stream.js";
import type { ManagedConnection } from "./connection-registry.js";
import { PushTimer } from "./push-timer.js";
import { RetryTimer } from "./retry-timer.js";
import { ResponseWriter } from "./response-writer.js";
import type { ServerContext } from "./server-context.js";
import { StreamWork } from "./stream-work.js";
import type { Sharer } from "../limits/shared-allowance.js";
import { snapshotOf } from "./snapshot.js";

/** One stream of one client: connects the protocol's state with a call, the source and the push queue. */
export class Connection<C = unknown> implements CallHandler, PushTarget, ManagedConnection, Sharer {
  readonly #context: ServerContext<C>;
  readonly #call: Call;
  readonly #writer: ResponseWriter;
  readonly #timer: PushTimer;
  /** Rejects if the stream exceeds the rate limit, which applies when it is opened, before its first request. */
  readonly #admission: Admission;
  #stream: AdmittedStream<C> | undefined;
  #ended = false;
  #endReason: string | undefined;
  #endCause: unknown;
  #endCode: Code | undefined;
  /** Set while responses may be due but the client must read first. */
  #blocked = false;
  readonly #answers: AnswerWriter;
  /** Nothing is sent while a request is applied, and no request is applied while a response is built. */
  readonly #work: StreamWork;
  /** Set if a push waits for a request to be applied. */
  #pushWaits = false;
  readonly #retry: RetryTimer;

  constructor(context: ServerContext<C>, call: Call) {
    this.#context = context;
    this.#call = call;
    this.#writer = new ResponseWriter(call, context);
    this.#answers = new AnswerWriter(this.#writer, context.unreadAnswers, () => this.#cutOff());
    this.#timer = new PushTimer(context.clock);
    this.#retry = new RetryTimer(context.clock, () => this.#retryNow());
    this.#work = new StreamWork(context.slices);
    this.#admission = context.admit(call);
    this.admitted.catch((error: unknown) => this.#fail(asConnectError(error)));
  }

  get admitted(): Promise<void> {
    return this.#admission.admitted;
  }

  get id(): string {
    return this.#stream?.id ?? "";
  }

  get copiedBytes(): number {
    return this.#writer.copiedBytes;
  }

  get stalledSince(): number | undefined {
    return this.#writer.stalledSince;
  }

  request(message: Sliced<XdsRequest>, bytes: number | undefined): Promise<void> | undefined {
    if (this.#ended) return undefined;
    const { current } = this.#work;
    if (current !== undefined) return current.then(() => this.request(message, bytes));
    return this.#stream === undefined ? this.#open(message, bytes) : this.#apply(this.#stream, message, bytes);
  }

  changed(types: ReadonlySet<string> | undefined): void {
    if (this.#ended || this.#stream?.protocol.changed(types) !== true) return;
    this.#timer.queued();
    this.#context.connections.settled(this, false);
    this.#queue("change");
  }

  push(): "done" | "blocked" {
    if (this.#stream === undefined) return "done";
    if (this.#work.current !== undefined) {
      this.#pushWaits = true;
      return "done";
    }
    this.#pushWaits = false;
    const { protocol, events, attribution } = this.#stream;
    const queueMs = this.#timer.started();
    if (queueMs !== undefined) events.pushStarted(attribution.pushStarted(), queueMs);
    for (let state = this.#sendNext(this.#stream); state !== "none due"; state = this.#sendNext(this.#stream))
      if (state === "blocked") return "blocked";
    this.#shareOf(this.#stream);
    const summary = this.#timer.finished();
    attribution.pushFinished();
    if (this.#ended) return "done";
    this.#context.connections.settled(this, !protocol.failed);
    this.#retry.schedule(protocol.retryAt);
    if (summary !== undefined) events.pushFinished(summary);
    return "done";
  }

  progressed(): void {
    if (this.#call.outstandingBytes === 0) this.#answers.releaseAll();
    const sentMs = this.#writer.progressed();
    if (sentMs !== undefined) this.#stream?.events.sent(sentMs);
    if (!this.#blocked || this.#writer.full) return;
    this.#blocked = false;
    this.#context.queue.resume(this);
  }

  halfClosed(): void {
    this.end(undefined, "the client ended the stream");
  }

  end(error: ConnectError | undefined, reason: string): void {
    if (this.#ended) return;
    this.#endReason = reason;
    this.#endCode = error?.code;
    this.#finish();
    this.#call.end(error);
  }

  abort(reason: string): void {
    if (this.#ended) return;
    this.#endReason = reason;
    this.#finish();
    this.#call.abort();
  }

  closed(reason: string): void {
    this.#answers.releaseAll();
    this.#endReason ??= reason;
    this.#finish();
  }

  exceeded(totalBytes: number): void {
    const reason = `all streams together have more than ${totalBytes} bytes of resource names without a resource in their clients' sets`;
    this.end(tooMuch(reason), reason);
  }

  /** The node of the client; undefined until the stream is admitted. */
  get node(): Node | undefined {
    return this.#stream?.node;
  }

  snapshot(): Snapshot | undefined {
    return this.#stream && snapshotOf(this.#call, this.#stream, this.#context.clock.now());
  }

  *rejectedResources(): Generator<readonly [typeUrl: string, name: string]> {
    for (const [typeUrl, { doubts }] of this.#stream?.protocol.types ?? [])
      for (const [name, { state }] of doubts ?? []) if (state === "rejected") yield [typeUrl, name];
  }

  async #open(decoding: Sliced<XdsRequest>, bytes: number | undefined): Promise<void> {
    try {
      await this.admitted;
      const message = await this.#decoded(decoding);
      if (message === undefined) return;
      const stream = await admitStream(this.#context, this.#call, nodeOf(message), {
        hasEnded: () => this.#ended,
        retry: () => this.#retryNow(),
      });
      this.#stream = stream;
      this.#context.connections.opened(this, stream.client);
      stream.events.connected(stream.node, this.#call.peer);
      await this.#apply(stream, completed(message), bytes);
    } catch (error) {
      this.#fail(asConnectError(error));
    }
  }

  /** Decodes the first request. Resolves to undefined if the stream has ended. */
  async #decoded(decoding: Sliced<XdsRequest>): Promise<XdsRequest | undefined> {
    let message: XdsRequest | undefined;
    await this.#work.run(decoding, {
      sliced: () => undefined,
      done: (decoded) => (message = decoded),
      failed: (error) => this.#fail(asConnectError(error)),
    });
    return message;
  }

  #apply(stream: AdmittedStream<C>, message: Sliced<XdsRequest>, bytes: number | undefined): Promise<void> | undefined {
    let answered: Promise<void> | undefined;
    const busy = this.#work.run(this.#handle(stream, message, bytes), {
      sliced: (unfinishedBytes) => this.#shareOf(stream, unfinishedBytes),
      done: (answer) => {
        answered = answer;
        if (stream.protocol.due || this.#pushWaits) this.#queue("request");
        else this.#retry.schedule(stream.protocol.retryAt);
      },
      failed: (error) => this.#fail(asConnectError(error)),
    });
    return busy === undefined ? answered : busy.then(() => answered);
  }

  /** Decodes and applies a request. Returns a promise of the response to an on-demand request. */
  *#handle(
    stream: AdmittedStream<C>,
    message: Sliced<XdsRequest>,
    bytes: number | undefined,
  ): Sliced<Promise<void> | undefined> {
    const { protocol, onDemand, events } = stream;
    const whole = withTypeUrl(yield* message, this.#call.method);
    checkRequest(whole, stream.limits);
    const { request, longNames } = yield* shorten(whole);
    if (this.#context.source.report?.(stream.client, request.typeUrl, request.errorDetail) === true) {
      events.requested({ typeUrl: request.typeUrl, stale: false }, bytes);
      return undefined;
    }
    const handled = onDemand.request(request);
    if (handled === undefined) {
      // Long requests take turns from the start, because many may arrive in one turn of the event loop.
      if (isLong(request)) yield 0;
      return this.#applied(stream, request, yield* protocol.request(request, longNames), bytes);
    }
    events.requested({ typeUrl: request.typeUrl, stale: false }, bytes);
    return handled.answer && this.#answer(stream, request.typeUrl, handled.answer);
  }

  #applied(
    stream: AdmittedStream<C>,
    { typeUrl }: XdsRequest,
    receipt: Receipt | undefined,
    bytes: number | undefined,
  ): undefined {
    const { events } = stream;
    if (receipt === undefined) events.ignored(typeUrl);
    else events.requested(receipt, bytes);
    this.#shareOf(stream);
  }

  /** Charges the stream for the names that only it has, and for those of an unfinished request. */
  #shareOf({ protocol, allowance, shareKey }: AdmittedStream<C>, unfinishedBytes = 0): void {
    if (!this.#ended) allowance.use(this, shareKey, protocol.unmatchedBytes + unfinishedBytes);
  }

  async #answer(stream: AdmittedStream<C>, typeUrl: string, promise: Answer | Promise<Answer>): Promise<void> {
    try {
      const answer = await promise;
      if (!this.#ended) await this.#answers.write(stream, typeUrl, answer);
    } catch (error) {
      this.#fail(asConnectError(error));
    }
  }

  /** Ends a stream, also one that has ended and whose client has not read everything. */
  #cutOff(): void {
    if (this.#ended) this.#call.abort();
    else this.abort("send timeout: the client did not read an answer, and others wait");
  }

  /** Sends the next due response, unless the client must read first or it is built in slices. */
  #sendNext(stream: AdmittedStream<C>): "sent" | "blocked" | "none due" {
    if (this.#ended) return "none due";
    if (this.#writer.full) {
      this.#blocked = true;
      return "blocked";
    }
    let wasDue = false;
    let isSliced = false;
    this.#work.run(this.#respond(stream), {
      sliced: () => {
        isSliced = true;
        this.#shareOf(stream);
      },
      done: (sent) => {
        wasDue = sent;
        if (isSliced) this.#context.queue.resume(this);
      },
      failed: (error) => this.#fail(asConnectError(error)),
    });
    return isSliced ? "blocked" : wasDue ? "sent" : "none due";
  }

  /** Builds and sends the next due response. Returns false if none is due. */
  *#respond({ protocol, events }: AdmittedStream<C>): Sliced<boolean> {
    const response = yield* protocol.next();
    if (response === undefined) return false;
    const { clock } = this.#context;
    const from = clock.now();
    const bytes = yield* this.#writer.write(response);
    events.pushed(response, bytes, clock.now() - from);
    if (response.trigger.reason === "change" || response.shown.changes.length > 0) this.#timer.sent(bytes);
    return true;
  }

  /** Queues a push of resources of rejected responses that are due to be sent again. */
  #retryNow(): void {
    if (!this.#ended) this.#queue("request");
  }

  #queue(reason: "request" | "change"): void {
    if (!this.#blocked && this.#work.current === undefined) this.#context.queue.add(this, reason);
  }

  #fail(error: ConnectError): void {
    if (this.#ended) return;
    const { cause, rawMessage } = error;
    if (this.#stream === undefined) {
      const code = Code[error.code] ?? String(error.code);
      const rejection = { peer: this.#call.peer, code, message: rawMessage, ...(cause !== undefined && { cause }) };
      this.#context.observe({ kind: "rejected", ...rejection });
    }
    this.#endCause = cause;
    this.end(error, rawMessage);
  }

  #finish(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#admission.cancel();
    this.#retry.cancel();
    this.#work.stop();
    this.#writer.close();
    const { queue, source, clock, connections, memory } = this.#context;
    queue.remove(this);
    if (this.#stream === undefined) return;
    const { client, protocol, attribution, events, allowance, shareKey, memoryKey, at } = this.#stream;
    memory.remember(memoryKey, protocol, clock.now());
    allowance.use(this, shareKey, 0);
    connections.closed(this, client);
    attribution.close();
    protocol.close();
    source.close?.(client);
    events.disconnected(this.#endReason ?? "", clock.now() - at, this.#endCode, this.#endCause);
  }
}

/** Reports whether a request lists more names than are handled at a time. */
function isLong({ names, unsubscribe, initialVersions }: XdsRequest): boolean {
  return names.size + unsubscribe.size + initialVersions.size > sliceNames;
}

/** Returns the node of a request. @throws ConnectError `InvalidArgument` if it is malformed or too large */
function nodeOf(message: XdsRequest): Node | undefined {
  try {
    return message.node;
  } catch (error) {
    if (error instanceof WireError) throw new ConnectError(`invalid node: ${error.message}`, Code.InvalidArgument);
    throw error;
  }
}

function asConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  return new ConnectError("internal error", Code.Internal, undefined, undefined, error);
}
