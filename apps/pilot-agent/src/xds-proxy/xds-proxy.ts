import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { reasonOf } from "../errors.js";
import { type Log, silentLog } from "../log.js";
import { listenOnSocket } from "../socket.js";
import type { Health, XdsProxyEvents, ResourceHandler } from "./agent-resources.js";
import { delta, type DiscoveryProtocol, stateOfTheWorld } from "./discovery-protocol.js";
import { ProxiedStream } from "./proxied-stream.js";
import { openUpstream, type UpstreamOptions } from "./upstream.js";

export interface XdsProxyOptions {
  /** Path of the Unix socket on which Envoy asks. */
  readonly socket: string;
  readonly upstream: UpstreamOptions;
  /** By type URL: what the agent asks for itself, once Envoy has asked for listeners. */
  readonly handlers?: Readonly<Record<string, ResourceHandler>>;
  readonly events?: XdsProxyEvents;
  readonly log?: Log;
}

/** Headers that a gRPC stream is answered with. */
const GRPC = { ":status": 200, "content-type": "application/grpc" } as const;
const UNIMPLEMENTED = "12";

/**
 * Carries Envoy's aggregated discovery streams to istiod. Each stream of Envoy's has a connection of its own; when that
 * breaks, Envoy's stream ends too, and Envoy, which knows what it has, comes back after a wait of its own and says so
 * in `initial_resource_versions`. Meanwhile it serves by what it has. Messages pass as bytes; only their type is looked
 * at.
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
      stream.on("error", (error) => this.#log.debug(`stream of Envoy: ${reasonOf(error)}`));
      const protocol = [delta, stateOfTheWorld].find(({ path }) => path === headers[":path"]);
      if (protocol) void this.#carry(stream, protocol);
      else stream.respond({ ...GRPC, "grpc-status": UNIMPLEMENTED }, { endStream: true });
    });
  }

  /** Begins to listen. @throws AgentError `address` */
  async start(): Promise<void> {
    await listenOnSocket(this.#server, this.#options.socket);
  }

  /** Ends every stream and stops listening. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const session of this.#sessions) session.destroy();
    await closed;
  }

  /** Tells istiod how the application is, now and after each reconnection. */
  reportHealth(health: Health): void {
    this.#health = health;
    this.#active?.reportHealth(health);
  }

  async #carry(downstream: ServerHttp2Stream, protocol: DiscoveryProtocol): Promise<void> {
    const { upstream, handlers = {}, events = {} } = this.#options;
    downstream.respond(GRPC, { waitForTrailers: true });
    const proxied = new ProxiedStream({
      downstream,
      protocol,
      handlers,
      events,
      log: this.#log,
      health: () => this.#health,
      onEnd: () => {
        if (this.#active === proxied) this.#active = undefined;
      },
    });
    this.#active?.end("1", "Envoy opened another stream");
    this.#active = proxied;
    try {
      const { session, headers } = await openUpstream(upstream);
      proxied.attach(session, headers);
    } catch (error) {
      events.connectionFailed?.();
      this.#log.warn(reasonOf(error));
      proxied.end("14", reasonOf(error));
    }
  }
}
