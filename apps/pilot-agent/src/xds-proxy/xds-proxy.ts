import type { ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { reasonOf } from "@istiod/runtime";
import { LimitedLog } from "@istiod/logging";
import { type Log, silentLog } from "../log.js";
import { SocketServer } from "../socket-server.js";
import { listenOnSocket } from "../socket.js";
import type { Health, ResourceHandler, ResourceRewriter, XdsProxyEvents } from "./agent-resources.js";
import { delta, type DiscoveryProtocol, stateOfTheWorld } from "./discovery-protocol.js";
import { ProxiedStream } from "./proxied-stream.js";
import { withSocketAuthority } from "./socket-authority.js";
import { openUpstream, type UpstreamOptions } from "./upstream.js";

export interface XdsProxyOptions {
  /** Path of the Unix socket that Envoy connects to. */
  readonly socket: string;
  readonly upstream: UpstreamOptions;
  /** Handlers by type URL. The agent subscribes to these types once Envoy has subscribed to listeners. */
  readonly handlers?: Readonly<Record<string, ResourceHandler>>;
  /** Rewriters by type URL, of resources for Envoy. */
  readonly rewriters?: Readonly<Record<string, ResourceRewriter>>;
  readonly events?: XdsProxyEvents;
  /** Maximum size of a message in either direction, in bytes. Default: 256 MiB. */
  readonly maxMessageBytes?: number;
  /** Maximum number of connections to the socket. Default: 8, or 64 if it serves applications. */
  readonly maxConnections?: number;
  /**
   * True if the applications of the pod are xDS clients: all users may connect, and each client has its own stream. An
   * Envoy has one, so that its next stream closes the former. Default: false.
   */
  readonly servesApplications?: boolean;
  readonly log?: Log;
}

/** Response headers of a gRPC stream. */
const GRPC_HEADERS = { ":status": 200, "content-type": "application/grpc" } as const;
/** A first push to a proxy of the largest mesh has tens of megabytes. */
const DEFAULT_MAX_MESSAGE_BYTES = 256 * 1024 * 1024;
/** Open streams of a connection. Envoy has one, and a new one closes it. */
const MAX_STREAMS = 16;
/** gRPC status codes. */
const CANCELLED = "1";
const UNIMPLEMENTED = "12";
const UNAVAILABLE = "14";

/**
 * Forwards aggregated discovery streams of Envoy, or of gRPC applications, to istiod. Each stream has its own upstream
 * connection. If the connection fails, the stream ends too; Envoy keeps its configuration, reconnects with backoff, and
 * states the versions that it has in `initial_resource_versions`. Messages are forwarded as bytes; only their type URL
 * is decoded.
 */
export class XdsProxy {
  readonly #options: XdsProxyOptions;
  readonly #log: Log;
  readonly #limitedLog: LimitedLog;
  readonly #server: SocketServer;
  #active: ProxiedStream | undefined;
  #health: Health | undefined;

  constructor(options: XdsProxyOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLog;
    this.#limitedLog = new LimitedLog(this.#log);
    this.#server = new SocketServer({
      maxConnections: options.maxConnections ?? (options.servesApplications === true ? 64 : 8),
      maxStreams: MAX_STREAMS,
      maxSessionMemory: 1024,
      ...(options.servesApplications === true && {
        accept: (socket: Socket) => withSocketAuthority(socket, options.socket),
      }),
      limited: () => {
        options.events?.rejected?.("connections");
        this.#limitedLog.write("warn", `too many connections to ${options.socket}, closing the newest`);
      },
    });
    this.#server.http.on("stream", (stream, headers) => {
      stream.on("error", (error) => this.#log.debug(`downstream stream: ${reasonOf(error)}`));
      const protocol = [delta, stateOfTheWorld].find(({ path }) => path === headers[":path"]);
      // A stream may be closed before it is served, and then rejects headers.
      if (stream.destroyed || stream.closed) return;
      if (protocol) this.#forward(stream, protocol);
      else stream.respond({ ...GRPC_HEADERS, "grpc-status": UNIMPLEMENTED }, { endStream: true });
    });
  }

  /** Starts listening. @throws AgentError `address` */
  async start(): Promise<void> {
    const { socket, servesApplications = false } = this.#options;
    await listenOnSocket(this.#server.listener, socket, servesApplications ? "all" : "owner");
  }

  /** Closes every stream and stops listening. */
  async close(): Promise<void> {
    await this.#server.close();
  }

  /** Reports the application's health to istiod, now and after each reconnection. */
  reportHealth(health: Health): void {
    this.#health = health;
    this.#active?.reportHealth(health);
  }

  #forward(downstream: ServerHttp2Stream, protocol: DiscoveryProtocol): void {
    const { handlers = {}, rewriters = {}, events = {}, maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES } = this.#options;
    downstream.respond(GRPC_HEADERS, { waitForTrailers: true });
    const proxied = new ProxiedStream({
      downstream,
      maxMessageBytes,
      protocol,
      handlers,
      rewriters,
      events,
      log: this.#log,
      health: () => this.#health,
      onEnd: () => {
        if (this.#active === proxied) this.#active = undefined;
      },
    });
    if (this.#options.servesApplications !== true) this.#active?.end(CANCELLED, this.#overlap());
    this.#active = proxied;
    void this.#connect(proxied);
  }

  #overlap(): string {
    this.#limitedLog.write("warn", "registered overlapping stream; closing previous");
    return "Envoy opened another stream";
  }

  /**
   * Opens the upstream connection of a stream, unless the stream ends first. A flood of streams therefore does not
   * become a flood of connections to istiod.
   */
  async #connect(proxied: ProxiedStream): Promise<void> {
    const { upstream, events = {} } = this.#options;
    try {
      const { session, headers } = await openUpstream(upstream, proxied.ended);
      proxied.attach(session, headers);
    } catch (error) {
      if (proxied.ended.aborted) return;
      events.connectionFailed?.();
      this.#log.warn(reasonOf(error));
      proxied.end(UNAVAILABLE, reasonOf(error));
    }
  }
}
