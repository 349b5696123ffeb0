import { Code, ConnectError } from "@connectrpc/connect";
import type { XdsResponse } from "../protocol/ads-stream.js";
import type { PushTarget } from "../push/push-queue.js";
import { Turn } from "../push/turn.js";
import type { Connection as Snapshot } from "../server.js";
import type { Answer } from "../source.js";
import { withTypeUrl } from "../transport/with-type-url.js";
import type { Call, CallHandler, OutgoingMessage } from "../transport/call.js";
import { encodeOnDemandResponse } from "../wire/on-demand-response.js";
import { encodeResponseHead } from "../wire/response-head.js";
import type { XdsRequest } from "../wire/request.js";
import type { ServerContext } from "./server-context.js";
import { open, type AdmittedStream } from "./admitted-stream.js";
import { subscriptionOf } from "./subscription.js";

/** Who knows of all connections. */
export interface ConnectionRegistry<C> {
  opened(connection: Connection<C>, client: C): void;
  closed(connection: Connection<C>, client: C): void;
  /** Whether it need not be asked after a change that does not concern its client. */
  settled(connection: Connection<C>, settled: boolean): void;
}

/** One stream of one client: the protocol's state, tied to a call, a source and a place in the queue. */
export class Connection<C = unknown> implements CallHandler, PushTarget {
  readonly #engine: ServerContext<C>;
  readonly #register: ConnectionRegistry<C>;
  readonly #call: Call;
  /** Rejects if the stream is not let in. It counts from its beginning, whether or not it ever asks for anything. */
  readonly #admitted: Promise<void>;
  #opened: AdmittedStream<C> | undefined;
  #over = false;
  #endReason: string | undefined;
  #endCause: unknown;
  #progressAt = 0;
  #handedOverAt = 0;
  readonly #turn: Turn;
  /** There may be more to send, but the client has to take what it was sent first. */
  #blocked = false;

  constructor(engine: ServerContext<C>, register: ConnectionRegistry<C>, call: Call) {
    this.#engine = engine;
    this.#register = register;
    this.#call = call;
    this.#turn = new Turn(engine.clock);
    this.#admitted = engine.admit();
    this.#admitted.catch((error: unknown) => this.#refuse(asConnectError(error)));
  }

  /** The oldest revision that the client is still to be served. */
  get owed(): number | undefined {
    return this.#turn.owed;
  }

  get id(): string {
    return this.#opened?.id ?? "";
  }

  get copiedBytes(): number {
    return this.#call.copies ? this.#call.outstandingBytes : 0;
  }

  /** Milliseconds since the epoch since when the client has not taken anything that it was sent; undefined if nothing is outstanding. */
  get stalledSince(): number | undefined {
    return this.#call.outstandingBytes > 0 ? this.#progressAt : undefined;
  }

  request(message: XdsRequest, bytes: number | undefined): Promise<void> | undefined {
    if (this.#over) return undefined;
    return this.#opened === undefined ? this.#first(message, bytes) : this.#take(this.#opened, message, bytes);
  }

  /** The source may answer differently from now on. */
  changed(types: ReadonlySet<string> | undefined, revision: number | undefined): void {
    const stream = this.#opened?.stream;
    if (stream === undefined || this.#over) return;
    if (!stream.changed(types, revision)) return;
    if (revision !== undefined) this.#turn.add(revision);
    this.#register.settled(this, false);
    this.#queue("change");
  }

  /** The source is about to answer differently. */
  changing(): void {
    if (this.#turn.owed !== undefined && !this.#over) this.#opened?.stream.changing();
  }

  push(): "done" | "blocked" {
    if (this.#opened === undefined) return "done";
    const { stream, events } = this.#opened;
    const turn = this.#turn.begin();
    if (turn !== undefined) events.turn(turn);
    while (!this.#over) {
      if (this.#call.outstandingBytes > this.#engine.maxOutstandingBytes) {
        this.#blocked = true;
        return "blocked";
      }
      const response = stream.next();
      if (response === undefined) break;
      const bytes = this.#send(response, this.#opened);
      if (response.due.reason === "change" || response.changes.length > 0) this.#turn.sent(bytes);
    }
    const served = this.#turn.end();
    if (!this.#over) this.#register.settled(this, !stream.failed);
    if (served !== undefined && !this.#over) events.served(served);
    return "done";
  }

  progressed(): void {
    const now = this.#engine.clock.now();
    this.#progressAt = now;
    if (this.#call.outstandingBytes === 0) this.#opened?.events.sent(now - this.#handedOverAt);
    if (!this.#blocked || this.#call.outstandingBytes > this.#engine.maxOutstandingBytes) return;
    this.#blocked = false;
    this.#engine.queue.resume(this);
  }

  halfClosed(): void {
    if (!this.#over) this.end(undefined, "the client ended the stream");
  }

  /** Ends the stream; what was sent is still delivered. */
  end(error: ConnectError | undefined, reason: string): void {
    if (this.#over) return;
    this.#endReason = reason;
    this.#finish();
    this.#call.end(error);
  }

  /** Ends the stream at once. */
  abort(reason: string): void {
    if (this.#over) return;
    this.#endReason = reason;
    this.#finish();
    this.#call.abort();
  }

  closed(reason: string): void {
    this.#endReason ??= reason;
    this.#finish();
  }

  snapshot(): Snapshot | undefined {
    if (this.#opened === undefined) return undefined;
    const { id, node, stream, at } = this.#opened;
    return {
      id,
      node,
      peer: this.#call.peer,
      variant: stream.variant,
      connectedAt: at,
      outstandingBytes: this.#call.outstandingBytes,
      ...(this.owed !== undefined && { owed: this.owed }),
      subscriptions: [...stream.types.values()].map(subscriptionOf),
    };
  }

  async #first(message: XdsRequest, bytes: number | undefined): Promise<void> {
    try {
      await this.#admitted;
      const opened = await open(this.#engine, this.#call, message.node, () => this.#over);
      this.#opened = opened;
      this.#register.opened(this, opened.client);
      opened.events.connected(this.#call.peer);
      await this.#take(opened, message, bytes);
    } catch (error) {
      this.#refuse(asConnectError(error));
    }
  }

  #take(opened: AdmittedStream<C>, message: XdsRequest, bytes: number | undefined): Promise<void> | undefined {
    const { stream, onDemand, events } = opened;
    try {
      const request = withTypeUrl(message, this.#call.method);
      const asked = onDemand.request(request);
      if (asked === undefined) {
        events.requested(stream.request(request), bytes);
        if (stream.due) this.#queue("request");
        return undefined;
      }
      events.requested({ typeUrl: request.typeUrl, stale: false }, bytes);
      return asked.answer && this.#answer(opened, request.typeUrl, asked.answer);
    } catch (error) {
      this.#refuse(asConnectError(error));
      return undefined;
    }
  }

  async #answer(
    { stream, onDemand, events }: AdmittedStream<C>,
    typeUrl: string,
    promised: Answer | Promise<Answer>,
  ): Promise<void> {
    try {
      const answer = await promised;
      if (this.#over) return;
      const nonce = onDemand.nextNonce();
      const head = encodeOnDemandResponse(stream.variant, typeUrl, nonce, answer);
      this.#handOver({ head, bodies: [], length: head.length });
      events.answered(typeUrl, nonce, answer.resources.length, head.length);
    } catch (error) {
      this.#refuse(asConnectError(error));
    }
  }

  /** Gives the response's length in bytes. */
  #send(response: XdsResponse, { stream, events }: AdmittedStream<C>): number {
    const { bodies, clock } = this.#engine;
    const { typeUrl, nonce, version, selection } = response;
    const from = clock.now();
    const head = encodeResponseHead(typeUrl, nonce, version);
    const encoded = bodies.encode(stream.variant, typeUrl, selection);
    const length = encoded.reduce((sum, body) => sum + body.length, head.length);
    this.#handOver({ head, bodies: encoded, length });
    events.pushed(response, length, clock.now() - from);
    return length;
  }

  #handOver(message: OutgoingMessage): void {
    if (this.#call.outstandingBytes === 0) this.#progressAt = this.#handedOverAt = this.#engine.clock.now();
    this.#call.send(message);
  }

  #queue(reason: "request" | "change"): void {
    if (!this.#blocked) this.#engine.queue.add(this, reason);
  }

  #refuse(error: ConnectError): void {
    if (this.#over) return;
    if (this.#opened === undefined) {
      const { peer } = this.#call;
      this.#engine.observe({
        kind: "refused",
        peer,
        code: Code[error.code] ?? String(error.code),
        message: error.rawMessage,
        ...causeOf(error),
      });
    }
    this.#endCause = error.cause;
    this.end(error, error.rawMessage);
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    const { queue, source, clock } = this.#engine;
    queue.remove(this);
    this.#turn.end();
    const opened = this.#opened;
    if (opened === undefined) return;
    this.#register.closed(this, opened.client);
    source.close?.(opened.client);
    opened.events.disconnected(this.#endReason ?? "", clock.now() - opened.at, this.#endCause);
  }
}

function causeOf({ cause }: ConnectError): { readonly cause?: unknown } {
  return cause === undefined ? {} : { cause };
}

function asConnectError(error: unknown): ConnectError {
  return error instanceof ConnectError
    ? error
    : new ConnectError("internal error", Code.Internal, undefined, undefined, error);
}
