import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  constants,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { type Clock, listenBacklog, listenHost } from "@istiod/runtime";
import { paceConnections, paceHandshakes, type WaitObserver } from "@istiod/tls-admission";
import type { Listening, ListenOptions, XdsServer } from "../api.js";
import { type RequestMemory, requestWindowBytes } from "../limits/request-memory.js";
import { AcceptedConnection, Acceptor, type ConnectionSupervision } from "./accepted-connection.js";
import { additionalServices, isGrpc } from "./additional-services.js";
import { discoveryRoutes } from "./connect.js";
import { GrpcCall } from "./grpc-call.js";
import { keepAlive, limitAge } from "./keep-alive.js";
import { listenLimits, type ListenLimits } from "./listen-limits.js";
import { discoveryMethods } from "./methods.js";
import { PacedTasks } from "./paced-tasks.js";
import type { RequestLimits } from "./request-intake.js";
import { contextOptions, secureServerOptions } from "./tls-context.js";
import { WriteSlots } from "./write-slots.js";

const lingerMs = 1000;
/** Streams that are begun in a turn of the event loop. Each takes 0.1 to 0.3 ms. */
const streamsPerTurn = 32;
/** Encrypted connections that may have large batches copied at the same time. */
const writeSlots = 32;

/** Enough for a token of a service account and a path; Node's default is twice that. */
const maxHeaderBytes = 32 * 1024;

const http2Options = ({ maxStreams, maxUnauthenticatedStreams }: ListenLimits) => ({
  settings: {
    initialWindowSize: requestWindowBytes,
    maxConcurrentStreams: Math.min(maxStreams, maxUnauthenticatedStreams),
    maxHeaderListSize: maxHeaderBytes,
  },
  // Node counts queued responses as memory of the session; they are shared between clients and bounded by the push
  // queue.
  maxSessionMemory: 4096,
});

/** State that the listeners of a server share. */
export interface ListenContext extends ConnectionSupervision {
  readonly clock: Clock;
  readonly memory: RequestMemory;
}

/** A listener that can be drained. */
export interface Listener extends Listening {
  /** Sends GOAWAY to all clients. */
  goAway(): void;
  /** Closes each connection when its streams have ended, and destroys it after a second. */
  shutdown(): Promise<void>;
}

/** Listens for HTTP/2 connections. Routes discovery calls to the server, and other calls to the additional services. */
export async function listen(
  server: Pick<XdsServer, "accept">,
  options: ListenOptions,
  shared: ListenContext,
): Promise<Listener> {
  const { tls } = options;
  const { clock } = shared;
  const limits = listenLimits(options);
  const secure =
    tls === undefined ? undefined : createSecureServer({ ...http2Options(limits), ...secureServerOptions(tls) });
  const http2: Http2Server | Http2SecureServer = secure ?? createServer(http2Options(limits));
  const acceptor = new Acceptor(http2, (socket) => AcceptedConnection.accept(socket, shared, limits));
  const waits: WaitObserver = {
    queued: (socket) => acceptor.connectionOf({ socket })?.queued(),
    begun: (socket) => acceptor.connectionOf({ socket })?.begun(),
  };
  if (secure !== undefined) {
    const close = (socket: Socket): void => acceptor.connectionOf({ socket })?.close("handshake_timeout");
    paceHandshakes(secure, { timers: shared.timers, close, ...waits });
  } else paceConnections(http2, waits);
  const sessions = new Map<ServerHttp2Session, AcceptedConnection>();
  http2.on("session", (session: ServerHttp2Session) => {
    const connection = acceptor.connectionOf(session);
    if (connection === undefined) return session.destroy();
    sessions.set(session, connection);
    session.once("close", () => sessions.delete(session));
    connection.opened(session);
    const destroy = (): void => connection.destroy();
    keepAlive(session, options.keepAlive ?? { intervalMs: 30_000, timeoutMs: 10_000 }, clock, destroy);
    const endCalls = (): void => connection.endCalls(maxAgeReached());
    if (options.maxAge !== undefined) limitAge(session, options.maxAge, clock, { endCalls, destroy });
  });
  http2.on("stream", streamListener(server, options, limits, sessions, shared));

  const host = await listenHost(options.host ?? "127.0.0.1");
  await new Promise<void>((resolve, reject) => {
    acceptor.server.once("error", reject);
    acceptor.server.listen({ port: options.port, host, backlog: listenBacklog }, () => {
      acceptor.server.off("error", reject);
      // A failure to accept one connection does not affect the others.
      acceptor.server.on("error", () => undefined);
      http2.on("error", () => undefined);
      resolve();
    });
  });
  return {
    host,
    port: (acceptor.server.address() as AddressInfo).port,
    renew: (renewed) => secure?.setSecureContext(contextOptions(renewed)),
    close: () => {
      acceptor.server.close();
    },
    goAway: () => {
      for (const session of sessions.keys()) if (!session.destroyed) session.goaway();
    },
    shutdown: () =>
      new Promise((resolve) => {
        acceptor.server.once("close", resolve);
        acceptor.server.close();
        for (const session of sessions.keys()) if (!session.destroyed) session.close();
        clock.after(lingerMs, () => {
          for (const connection of acceptor.connections()) connection.destroy();
        });
      }),
  };
}

type StreamListener = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
) => void;

/**
 * Serves discovery calls directly on HTTP/2 streams: Node's request and response objects would add two streams per
 * call.
 */
function streamListener(
  server: Pick<XdsServer, "accept">,
  options: ListenOptions,
  { maxRequestBytes, firstRequestTimeoutMs }: ListenLimits,
  sessions: ReadonlyMap<ServerHttp2Session, AcceptedConnection>,
  { clock, memory, timers, limited }: ListenContext,
): StreamListener {
  const viaConnect = options.transport === "connect";
  const { compression = true } = options;
  const limits: RequestLimits = { maxRequestBytes, firstRequestTimeoutMs, memory, timers };
  const routes = (router: ConnectRouter): void => {
    if (viaConnect) discoveryRoutes(router, (call) => server.accept(call));
    options.routes?.(router);
  };
  const others = additionalServices({ routes, limits, limited });
  const slots = options.tls === undefined ? undefined : new WriteSlots(writeSlots, clock);
  const begin = (
    connection: AcceptedConnection,
    ...[stream, headers, flags, rawHeaders]: Parameters<StreamListener>
  ): void => {
    const path = headers[":path"] ?? "";
    const method = viaConnect ? undefined : discoveryMethods.get(path);
    const handler = options.calls?.get(path);
    if (method === undefined && handler === undefined) others(stream, headers, flags, rawHeaders);
    else if (headers[":method"] !== "POST") stream.respond({ ":status": 405 }, { endStream: true });
    else if (!isGrpc(headers["content-type"])) stream.respond({ ":status": 415 }, { endStream: true });
    else if (method === undefined) handler?.(stream, headers);
    else {
      const call = new GrpcCall(stream, headers, method, { clock, connection, slots, compression });
      connection.calls.add(call);
      stream.once("close", () => connection.calls.delete(call));
      call.serve(server.accept(call), limits, limited);
    }
  };
  const paced = new PacedTasks(streamsPerTurn);
  return (stream, ...event) => {
    const session = stream.session as ServerHttp2Session | undefined;
    const connection = session && sessions.get(session);
    if (connection === undefined) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    connection.streamOpened(stream);
    stream.on("error", () => undefined);
    paced.run(connection.identity.key, () => {
      if (!stream.destroyed) begin(connection, stream, ...event);
    });
  };
}

function maxAgeReached(): ConnectError {
  return new ConnectError("max connection age reached, closing stream", Code.Unavailable);
}
