import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { type Frame, FrameReader, WireError } from "@istiod/protobuf-wire";
import { listenerType } from "@istiod/resources";
import { reasonOf } from "@istiod/runtime";
import { AgentError } from "../errors.js";
import { LimitedLog } from "@istiod/logging";
import type { Log } from "../log.js";
import type { Health, ResourceHandler, ResourceRewriter, XdsProxyEvents } from "./agent-resources.js";
import { agentResources, type DiscoveryProtocol, HEALTH_TYPE, isEnvoyType, stateOf } from "./discovery-protocol.js";
import { ResponseReader } from "./response-reader.js";
import { typeUrlIn } from "./type-url.js";

export interface ProxiedStreamOptions {
  readonly downstream: ServerHttp2Stream;
  /** Maximum size of a message in either direction. */
  readonly maxMessageBytes: number;
  readonly protocol: DiscoveryProtocol;
  readonly handlers: Readonly<Record<string, ResourceHandler>>;
  readonly rewriters: Readonly<Record<string, ResourceRewriter>>;
  readonly events: XdsProxyEvents;
  readonly log: Log;
  readonly health: () => Health | undefined;
  readonly onEnd: () => void;
}

const OK = "0";
const CANCELLED = "1";
const INTERNAL = "13";
const UNAVAILABLE = "14";
/** Bytes of Envoy's requests that wait for the connection to istiod. */
const MAX_PENDING_BYTES = 1024 * 1024;
/** Bytes of memory that a pending request takes in addition to its own. */
const PENDING_OVERHEAD = 128;
/** Unknown types that are logged for a stream, and characters of a type or status message. */
const MAX_LOGGED_TYPES = 16;
const MAX_LOGGED_LENGTH = 1024;
/** NGHTTP2_CANCEL (RFC 9113 §7). */
const RESET_CANCEL = 8;

/** One of Envoy's streams and the stream to istiod that it is forwarded on. */
export class ProxiedStream {
  readonly #options: ProxiedStreamOptions;
  readonly #fromEnvoy: FrameReader;
  readonly #responses: ResponseReader;
  /** Requests received before the connection to istiod was established. Envoy's stream pauses beyond the limit. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** The agent's own requests by type while istiod does not read or is not connected. The latest of a type is sent. */
  readonly #ownRequests = new Map<string, Buffer>();
  readonly #limitedLog: LimitedLog;
  readonly #ended = new AbortController();
  readonly #skippedTypes = new Set<string>();
  #session: ClientHttp2Session | undefined;
  #upstream: ClientHttp2Stream | undefined;
  /** Settles when all responses that are rewritten have been forwarded, in their order. */
  #rewriting: Promise<void> = Promise.resolve();
  /** Ends the stream once the received responses are forwarded; set after istiod has ended its side. */
  #ending: (() => void) | undefined;
  #hasSubscribed = false;
  /** Headers or trailers with istiod's gRPC status. */
  #trailers: IncomingHttpHeaders | undefined;
  #status: { readonly code: string; readonly message: string } | undefined;

  constructor(options: ProxiedStreamOptions) {
    this.#options = options;
    this.#limitedLog = new LimitedLog(options.log);
    this.#fromEnvoy = new FrameReader(options.maxMessageBytes);
    this.#responses = new ResponseReader(options.maxMessageBytes, {
      message: (frame) => this.#response(frame),
      isFull: () => options.downstream.writableNeedDrain,
      drained: () => (this.#ending ? this.#ending() : this.#resumeUpstream()),
      failed: (error) => this.#failed(error),
    });
    const { downstream } = options;
    downstream.on("data", (bytes: Buffer) =>
      this.#guard(() => this.#fromEnvoy.push(bytes).forEach((frame) => this.#request(frame))),
    );
    downstream.on("end", () => this.#upstream?.end());
    downstream.on("wantTrailers", () => {
      const { code, message } = this.#status ?? { code: OK, message: "" };
      downstream.sendTrailers({
        "grpc-status": code,
        ...(message === "" ? {} : { "grpc-message": encodeMessage(message) }),
      });
      // A client that does not end its side would keep the stream open.
      setImmediate(() => downstream.close());
    });
    downstream.on("close", () => {
      if (!this.#status)
        options.events.terminated?.(
          "envoy",
          downstream.rstCode === 0 || downstream.rstCode === RESET_CANCEL ? "cancelled" : "error",
        );
      this.#status ??= { code: CANCELLED, message: "" };
      this.#release();
    });
  }

  /** Aborted when the stream has ended. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Attaches the upstream connection and sends the pending requests. */
  attach(session: ClientHttp2Session, headers: Readonly<Record<string, string>>): void {
    if (this.#status) {
      session.destroy();
      return;
    }
    const { downstream, protocol, log } = this.#options;
    log.info(`connected to upstream XDS server: ${session.socket.remoteAddress}:${session.socket.remotePort}`);
    const upstream = session.request({
      ":method": "POST",
      ":path": protocol.path,
      "content-type": "application/grpc",
      te: "trailers",
      "grpc-accept-encoding": "gzip",
      ...headers,
    });
    this.#session = session;
    this.#upstream = upstream;
    upstream.on("response", (response) => {
      if (response[":status"] !== 200)
        this.end(UNAVAILABLE, `istiod responded with HTTP status ${response[":status"]}`, "istiod");
      else if (response["grpc-status"] !== undefined) this.#trailers = response;
      const encoding = response["grpc-encoding"];
      if (typeof encoding === "string") this.#responses.encoding = encoding;
    });
    upstream.on("data", (bytes: Buffer) => {
      if (this.#status) return;
      this.#responses.push(bytes);
      if (this.#responses.isBusy) upstream.pause();
    });
    upstream.on("trailers", (trailers) => {
      this.#trailers = trailers;
    });
    // Trailers may arrive while earlier messages are decompressed, or wait for Envoy to read.
    upstream.on("end", () => this.#afterResponses(() => this.#finish()));
    upstream.on("error", (error) => this.end(UNAVAILABLE, `upstream stream: ${reasonOf(error)}`, "istiod"));
    upstream.on("close", () => this.#afterResponses(() => this.end(UNAVAILABLE, "upstream stream closed", "istiod")));
    upstream.on("drain", () => {
      this.#sendOwnRequests();
      downstream.resume();
      this.#resumeUpstream();
    });
    downstream.on("drain", () => this.#responses.continue());
    downstream.resume();
    for (const bytes of this.#pending) this.#send(bytes);
    this.#pending = [];
    this.#sendOwnRequests();
    if (downstream.readableEnded) upstream.end();
  }

  reportHealth(health: Health): void {
    if (this.#hasSubscribed)
      this.#sendOwn(
        HEALTH_TYPE,
        this.#options.protocol.request(HEALTH_TYPE, undefined, health.healthy ? undefined : health.reason),
      );
  }

  /** Ends both streams with a gRPC status. @param side the side that caused it, for metrics */
  end(code: string, message: string, side?: "istiod" | "envoy"): void {
    if (this.#status) return;
    this.#status = { code, message };
    if (side) this.#options.events.terminated?.(side, code === OK || code === CANCELLED ? "cancelled" : "error");
    const { downstream } = this.#options;
    if (!downstream.destroyed) downstream.end();
    this.#release();
  }

  #request({ bytes, message }: Frame): void {
    const { protocol, events, handlers, health } = this.#options;
    const typeUrl = typeUrlIn(message, protocol.requestTypeField);
    events.request?.(typeUrl);
    this.#send(bytes);
    if (this.#hasSubscribed || typeUrl !== listenerType) return;
    this.#hasSubscribed = true;
    for (const handled of Object.keys(handlers)) this.#sendOwn(handled, protocol.request(handled));
    const report = health();
    if (report) this.reportHealth(report);
  }

  #response({ bytes, message }: Frame): void {
    const { protocol, events, handlers, rewriters, log } = this.#options;
    const typeUrl = typeUrlIn(message, protocol.responseTypeField);
    events.response?.(typeUrl);
    const rewriter = Object.hasOwn(rewriters, typeUrl) ? rewriters[typeUrl] : undefined;
    const handler = Object.hasOwn(handlers, typeUrl) ? handlers[typeUrl] : undefined;
    if (handler) this.#handle(message, typeUrl, handler);
    else if (!isEnvoyType(typeUrl)) this.#skip(typeUrl, log);
    else if (rewriter) this.#rewrite(Buffer.from(message), rewriter);
    else this.#forward(bytes);
  }

  #forward(bytes: Buffer): void {
    const { downstream } = this.#options;
    if (!downstream.destroyed && !downstream.write(bytes)) this.#upstream?.pause();
  }

  /** Rewrites a response, which may take long, while others are forwarded. */
  #rewrite(message: Buffer, rewriter: ResourceRewriter): void {
    const before = this.#rewriting;
    const rewritten = this.#options.protocol.rewrite(message, rewriter);
    this.#rewriting = Promise.all([rewritten, before]).then(
      ([bytes]) => {
        if (!this.#status) this.#forward(bytes);
      },
      (error: unknown) => this.#failed(error),
    );
  }

  /** Logs a type that Envoy does not know, once a stream. */
  #skip(typeUrl: string, log: Log): void {
    if (this.#skippedTypes.size >= MAX_LOGGED_TYPES || this.#skippedTypes.has(typeUrl)) return;
    this.#skippedTypes.add(typeUrl);
    log.warn(
      `Skipping forwarding type url ${typeUrl.slice(0, MAX_LOGGED_LENGTH)} to Envoy as is not a valid Envoy type`,
    );
  }

  /** Passes a response to its handler and sends the ACK or NACK. */
  #handle(message: Buffer, typeUrl: string, handler: ResourceHandler): void {
    const { protocol, events } = this.#options;
    const state = stateOf(message);
    let rejection: string | undefined;
    try {
      for (const resource of agentResources(protocol, message)) handler(resource);
    } catch (error) {
      rejection = reasonOf(error).slice(0, MAX_LOGGED_LENGTH);
      events.rejected?.("agent_resource");
      this.#limitedLog.write("warn", `sending NACK for ${typeUrl}: ${rejection}`);
    }
    this.#sendOwn(typeUrl, protocol.request(typeUrl, state, rejection));
    // The work for a server that does not read its ACKs is bounded, too.
    if (this.#upstream?.writableNeedDrain) this.#upstream.pause();
  }

  /** Sends a request of the agent's own. While it has to wait, a later one of its type replaces it. */
  #sendOwn(typeUrl: string, bytes: Buffer): void {
    if (!this.#upstream || this.#upstream.writableNeedDrain) this.#ownRequests.set(typeUrl, bytes);
    else this.#send(bytes);
  }

  #sendOwnRequests(): void {
    const waiting = [...this.#ownRequests.values()];
    this.#ownRequests.clear();
    for (const bytes of waiting) this.#send(bytes);
  }

  #send(bytes: Buffer): void {
    if (!this.#upstream) {
      this.#pending.push(bytes);
      this.#pendingBytes += bytes.length + PENDING_OVERHEAD;
      if (this.#pendingBytes > MAX_PENDING_BYTES) this.#options.downstream.pause();
    } else if (this.#upstream.writable && !this.#upstream.write(bytes)) this.#options.downstream.pause();
  }

  #finish(): void {
    if (this.#status) return;
    const headers = this.#trailers ?? {};
    const status = headers["grpc-status"];
    const code = typeof status === "string" && /^(?:\d|1[0-6])$/.test(status) ? status : UNAVAILABLE;
    const message = typeof headers["grpc-message"] === "string" ? decodeMessage(headers["grpc-message"]) : "";
    this.#options.log.info(
      `upstream stream terminated with gRPC status ${code}${message === "" ? "" : `: ${message.slice(0, MAX_LOGGED_LENGTH)}`}`,
    );
    this.end(code, message, "istiod");
  }

  #guard(work: () => void): void {
    if (this.#status) return;
    try {
      work();
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (this.#status) return;
    this.#options.log.error(reasonOf(error));
    if (error instanceof WireError && error.code === "too-long") this.#options.events.rejected?.("message_size");
    this.end(error instanceof AgentError || error instanceof WireError ? INTERNAL : UNAVAILABLE, reasonOf(error));
  }

  /** Ends the stream in the given way once all responses that were received have been forwarded. */
  #afterResponses(end: () => void): void {
    if (!this.#responses.isBusy) end();
    else this.#ending ??= end;
  }

  /** Continues to read responses, unless one is held back, or Envoy or istiod does not read. */
  #resumeUpstream(): void {
    const [upstream, { downstream }] = [this.#upstream, this.#options];
    if (!upstream || this.#responses.isBusy || downstream.writableNeedDrain || upstream.writableNeedDrain) return;
    upstream.resume();
  }

  #release(): void {
    this.#ended.abort();
    this.#responses.close();
    this.#pending = [];
    this.#ownRequests.clear();
    this.#upstream?.close(RESET_CANCEL);
    const session = this.#session;
    session?.close();
    this.#options.onEnd();
  }
}

/** Encodes a gRPC status message, which trailers have little room for. */
function encodeMessage(message: string): string {
  // Encoding and decoding replaces unpaired surrogates, which cannot be encoded as a URI component.
  return encodeURIComponent(Buffer.from(message.slice(0, MAX_LOGGED_LENGTH)).toString());
}

function decodeMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
