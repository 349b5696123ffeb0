import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { reasonOf } from "../errors.js";
import { type Log, silentLog } from "../log.js";
import { listenOnSocket } from "../socket.js";
import type { Health, XdsProxyEvents, ResourceHandler } from "./agent-resources.js";
import { delta, type DiscoveryProtocol, stateOfTheWorld } from "./discovery-protocol.js";
import { ProxiedStream } from "./proxied-stream.js";
import { openUpstream, type UpstreamOptions } from "./upstream.js";

export interface XdsProxyOptions {
  /** Path of the Unix socket that Envoy connects to. */
  readonly socket: string;
  readonly upstream: UpstreamOptions;
  /** Handlers by type URL. The agent subscribes to these types once Envoy has subscribed to listeners. */
  readonly handlers?: Readonly<Record<string, ResourceHandler>>;
  readonly events?: XdsProxyEvents;
  /** Maximum size of a message in either direction, in bytes. Default: 256 MiB. */
  readonly maxMessageBytes?: number;
  readonly log?: Log;
}

/** Response headers of a gRPC stream. */
const GRPC_HEADERS = { ":status": 200, "content-type": "application/grpc" } as const;
/** A first push to a proxy of the largest mesh has tens of megabytes. */
const DEFAULT_MAX_MESSAGE_BYTES = 256 * 1024 * 1024;
/** gRPC status codes. */
const CANCELLED = "1";
const UNIMPLEMENTED = "12";
const UNAVAILABLE = "14";

/**
 * Forwards Envoy's aggregated discovery streams to istiod. Each of Envoy's streams has its own upstream connection. If
 * the connection fails, Envoy's stream ends too; Envoy keeps its configuration, reconnects with backoff, and states the
 * versions that it has in `initial_resource_versions`. Messages are forwarded as bytes; only their type URL is decoded.
 */
export class XdsProxy {
  readonly #options: XdsProxyOptions;
  readonly #log: Log;
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  #active: ProxiedStream | undefined;
  #health: Health | undefined;

  constructor(options: XdsProxyOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLog;
    this.#server = createServer({ maxSessionMemory: 1024 });
    this.#server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("close", () => this.#sessions.delete(session));
      session.on("error", () => session.destroy());
    });
    this.#server.on("stream", (stream, headers) => {
      stream.on("error", (error) => this.#log.debug(`downstream stream: ${reasonOf(error)}`));
      const protocol = [delta, stateOfTheWorld].find(({ path }) => path === headers[":path"]);
      // A stream may be closed before it is served, and then rejects headers.
      if (stream.destroyed || stream.closed) return;
      if (protocol) void this.#forward(stream, protocol);
      else stream.respond({ ...GRPC_HEADERS, "grpc-status": UNIMPLEMENTED }, { endStream: true });
    });
  }

  /** Starts listening. @throws AgentError `address` */
  async start(): Promise<void> {
    await listenOnSocket(this.#server, this.#options.socket);
  }

  /** Closes every stream and stops listening. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const session of this.#sessions) session.destroy();
    await closed;
  }

  /** Reports the application's health to istiod, now and after each reconnection. */
  reportHealth(health: Health): void {
    this.#health = health;
    this.#active?.reportHealth(health);
  }

  async #forward(downstream: ServerHttp2Stream, protocol: DiscoveryProtocol): Promise<void> {
    const { upstream, handlers = {}, events = {}, maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES } = this.#options;
    downstream.respond(GRPC_HEADERS, { waitForTrailers: true });
    const proxied = new ProxiedStream({
      downstream,
      maxMessageBytes,
      protocol,
      handlers,
      events,
      log: this.#log,
      health: () => this.#health,
      onEnd: () => {
        if (this.#active === proxied) this.#active = undefined;
      },
    });
    if (this.#active) this.#log.warn("registered overlapping stream; closing previous");
    this.#active?.end(CANCELLED, "Envoy opened another stream");
    this.#active = proxied;
    try {
      const { session, headers } = await openUpstream(upstream);
      proxied.attach(session, headers);
    } catch (error) {
      events.connectionFailed?.();
      this.#log.warn(reasonOf(error));
      proxied.end(UNAVAILABLE, reasonOf(error));
    }
  }
}
