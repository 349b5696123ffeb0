import { randomBytes } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { Resource, ResourceSet } from "@istiod/resources";
import type { Clock } from "./clock.js";
import type { XdsEvent } from "./events.js";
import type { AdsStream, ClientSource, Receipt, XdsResponse } from "./protocol/ads-stream.js";
import { DeltaStream } from "./protocol/delta-stream.js";
import { SotwStream } from "./protocol/sotw-stream.js";
import type { PushQueue, Pushed } from "./push/push-queue.js";
import { Turn } from "./push/turn.js";
import type { Connection as Snapshot } from "./server.js";
import { subscriptionOf } from "./snapshot.js";
import type { ResourceSource } from "./source.js";
import { addressed } from "./transport/addressed.js";
import type { Call, CallHandler } from "./transport/call.js";
import { encodeAnswer } from "./wire/answer.js";
import { countOf, type BodyCache } from "./wire/body-cache.js";
import { encodeHead } from "./wire/head.js";
import type { XdsRequest } from "./wire/request.js";

/** What connections share. */
export interface Engine<C> {
  readonly source: ResourceSource<C>;
  readonly queue: PushQueue;
  readonly bodies: BodyCache;
  readonly clock: Clock;
  readonly maxOutstandingBytes: number;
  readonly observe: (event: XdsEvent) => void;
  /** Whether a stream may be opened now. Throws, or waits for a moment, if not. */
  readonly admit: () => Promise<void>;
  readonly opened: (connection: Connection<C>) => void;
  readonly closed: (connection: Connection<C>) => void;
  /** A number that no other stream of this process has. */
  readonly number: () => number;
  /** The source's number of its present state. */
  readonly revision: () => number | undefined;
}

interface Opened<C> {
  readonly id: string;
  readonly node: Node;
  readonly client: C;
  readonly stream: AdsStream;
  readonly at: number;
}

/** One stream of one client: the protocol's state, tied to a call, a source and a place in the queue. */
export class Connection<C = unknown> implements CallHandler, Pushed {
  readonly #engine: Engine<C>;
  readonly #call: Call;
  #opened: Opened<C> | undefined;
  #over = false;
  #endReason: string | undefined;
  #progressAt = 0;
  #handedOverAt = 0;
  readonly #turn: Turn;
  #answers = 0;
  /** What was answered last, of types that are not watched. */
  readonly #asked = new Map<string, string>();
  /** There may be more to send, but the client has to take what it was sent first. */
  #blocked = false;

  constructor(engine: Engine<C>, call: Call) {
    this.#engine = engine;
    this.#call = call;
    this.#turn = new Turn(engine.clock);
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
  get stuckSince(): number | undefined {
    return this.#call.outstandingBytes > 0 ? this.#progressAt : undefined;
  }

  async request(message: XdsRequest, bytes: number | undefined): Promise<void> {
    if (this.#over) return;
    try {
      const opened = (this.#opened ??= await this.#open(message.node));
      if (this.#over) return;
      const { stream } = opened;
      const request = addressed(message, this.#call.method);
      if (await this.#answered(opened, request, bytes)) return;
      this.#report(request.typeUrl, stream.request(request), bytes);
      if (stream.due) this.#queue("request");
    } catch (error) {
      this.#refuse(asConnectError(error));
    }
  }

  /** The source may answer differently from now on. */
  changed(types: readonly string[] | undefined, revision: number | undefined): void {
    const stream = this.#opened?.stream;
    if (stream === undefined || this.#over) return;
    stream.changed(types, revision);
    if (!stream.due) return;
    if (revision !== undefined) this.#turn.add(revision);
    this.#queue("change");
  }

  /** The source is about to answer differently. */
  changing(): void {
    if (this.#turn.owed !== undefined && !this.#over) this.#opened?.stream.changing();
  }

  push(): "done" | "blocked" {
    const { maxOutstandingBytes, clock, observe } = this.#engine;
    if (this.#opened === undefined) return "done";
    const turn = this.#turn.begin();
    if (turn !== undefined) observe({ kind: "turn", ...this.#identity(this.#opened), ...turn });
    while (!this.#over) {
      if (this.#call.outstandingBytes > maxOutstandingBytes) {
        this.#blocked = true;
        return "blocked";
      }
      const response = this.#opened.stream.next();
      if (response === undefined) break;
      if (this.#call.outstandingBytes === 0) this.#progressAt = this.#handedOverAt = clock.now();
      const bytes = this.#send(response, this.#opened);
      if (response.due.reason === "change" || response.changes.length > 0) this.#turn.sent(bytes);
    }
    const served = this.#turn.end();
    if (served !== undefined && !this.#over) observe({ kind: "served", ...this.#identity(this.#opened), ...served });
    return "done";
  }

  progressed(): void {
    const now = this.#engine.clock.now();
    this.#progressAt = now;
    if (this.#call.outstandingBytes === 0 && this.#opened !== undefined) {
      this.#engine.observe({ kind: "sent", ...this.#identity(this.#opened), afterMs: now - this.#handedOverAt });
    }
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
      subscriptions: [...stream.types.values()].map(subscriptionOf),
    };
  }

  async #open(node: Node | undefined): Promise<Opened<C>> {
    const { source, clock } = this.#engine;
    const { peer, method } = this.#call;
    await this.#engine.admit();
    if (!source.ready()) throw new ConnectError("the server has nothing to serve yet", Code.Unavailable);
    if (node === undefined || node.id === "") throw new ConnectError("missing node information", Code.InvalidArgument);
    const client = await source.open(node, peer);
    if (this.#over) {
      source.close?.(client);
      throw new ConnectError("the client is gone", Code.Canceled);
    }
    const clientSource = this.#sourceFor(client);
    const prefix = `${randomBytes(4).toString("base64url")}.`;
    const stream =
      method.variant === "delta" ? new DeltaStream(clientSource, clock, prefix) : new SotwStream(clientSource, clock, prefix);
    const opened: Opened<C> = {
      id: `${node.id}-${this.#engine.number()}`,
      node,
      client,
      stream,
      at: clock.now(),
    };
    this.#opened = opened;
    this.#engine.opened(this);
    this.#engine.observe({ kind: "connect", ...this.#identity(opened), peer });
    return opened;
  }

  #sourceFor(client: C): ClientSource {
    const { source, observe } = this.#engine;
    return {
      resources: (typeUrl: string): ResourceSet | undefined => source.resources(client, typeUrl),
      revision: this.#engine.revision,
      lookup: source.lookup && ((typeUrl: string, name: string): Resource | undefined => source.lookup?.(client, typeUrl, name)),
      failed: (typeUrl, error) => {
        if (this.#opened) observe({ kind: "failure", ...this.#identity(this.#opened), typeUrl, error });
      },
    };
  }

  /** Answers a request of a type that is not watched; says whether it is one. What only acknowledges an answer, asking for nothing else, needs none. */
  async #answered(opened: Opened<C>, { typeUrl, responseNonce, names }: XdsRequest, bytes: number | undefined): Promise<boolean> {
    const { clock, observe, source } = this.#engine;
    const before = this.#asked.get(typeUrl);
    const asked = before === undefined ? undefined : [...names].join("\n");
    const acknowledges = before !== undefined && responseNonce !== "" && (asked === "" || asked === before);
    const promised = acknowledges ? undefined : source.answer?.(opened.client, typeUrl, names);
    if (promised === undefined && !acknowledges) return false;
    this.#report(typeUrl, { typeUrl, stale: false }, bytes);
    if (promised === undefined) return true;
    this.#asked.set(typeUrl, asked ?? [...names].join("\n"));
    const answer = await promised;
    if (this.#over) return true;
    const nonce = `${opened.id}.${(++this.#answers).toString(36)}`;
    const head = encodeAnswer(opened.stream.variant, typeUrl, nonce, answer);
    if (this.#call.outstandingBytes === 0) this.#progressAt = this.#handedOverAt = clock.now();
    this.#call.send({ head, bodies: [], length: head.length });
    const of = { reason: "request", nonce, version: "", changes: [], resources: answer.resources.length, removed: 0, bytes: head.length, queueMs: 0, buildMs: 0 } as const;
    observe({ kind: "push", ...this.#identity(opened), typeUrl, ...of });
    return true;
  }

  #report(typeUrl: string, { stale, ack, nack }: Receipt, bytes: number | undefined): void {
    if (this.#opened === undefined) return;
    const { observe } = this.#engine;
    const of = { ...this.#identity(this.#opened), typeUrl };
    observe({ kind: "request", ...of, stale, ...(bytes !== undefined && { bytes }) });
    if (ack) observe({ kind: "ack", ...of, ...ack });
    if (nack) observe({ kind: "nack", ...of, error: nack });
  }

  /** Gives the response's length in bytes. */
  #send(response: XdsResponse, opened: Opened<C>): number {
    const { bodies, clock, observe } = this.#engine;
    const { typeUrl, nonce, version, selection, due, revision, changes } = response;
    const from = clock.now();
    const head = encodeHead(typeUrl, nonce, version);
    const encoded = bodies.encode(opened.stream.variant, typeUrl, selection);
    const length = encoded.reduce((sum, body) => sum + body.length, head.length);
    this.#call.send({ head, bodies: encoded, length });
    observe({
      kind: "push",
      ...this.#identity(opened),
      typeUrl,
      reason: due.reason,
      nonce,
      version,
      ...(revision !== undefined && { revision }),
      changes,
      resources: countOf(selection),
      removed: selection.removed.length,
      bytes: length,
      queueMs: Math.max(0, response.startedAt - due.since),
      buildMs: response.buildMs + clock.now() - from,
    });
    return length;
  }

  #queue(reason: "request" | "change"): void {
    if (!this.#blocked) this.#engine.queue.add(this, reason);
  }

  #refuse(error: ConnectError): void {
    if (this.#over) return;
    if (this.#opened === undefined) {
      const { peer } = this.#call;
      this.#engine.observe({ kind: "refused", peer, code: Code[error.code] ?? String(error.code), message: error.rawMessage });
    }
    this.end(error, error.rawMessage);
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    const { queue, source, observe, clock, closed } = this.#engine;
    queue.remove(this);
    this.#turn.end();
    const opened = this.#opened;
    if (opened === undefined) return;
    closed(this);
    source.close?.(opened.client);
    observe({
      kind: "disconnect",
      ...this.#identity(opened),
      reason: this.#endReason ?? "",
      connectedMs: clock.now() - opened.at,
    });
  }

  #identity({ id, node, stream }: Opened<C>): { connection: string; nodeId: string; variant: "delta" | "sotw" } {
    return { connection: id, nodeId: node.id, variant: stream.variant };
  }
}

function asConnectError(error: unknown): ConnectError {
  return error instanceof ConnectError ? error : new ConnectError("internal error", Code.Internal, undefined, undefined, error);
}
