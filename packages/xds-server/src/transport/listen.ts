import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import type { Clock } from "@istiod/settings";
import type { Listening, ListenOptions, XdsServer } from "../api.js";
import { discoveryRoutes } from "./connect.js";
import { GrpcCall } from "./grpc-call.js";
import { keepAlive, limitAge } from "./keep-alive.js";
import { MessageBuffers } from "./message-buffers.js";
import { discoveryMethods } from "./methods.js";
import { paceHandshakes } from "./paced-handshakes.js";
import { peerKey, peerOf } from "./peer.js";
import { contextOptions, secureServerOptions } from "./tls-context.js";
import { WriteSlots } from "./write-slots.js";

const grpcUnimplemented = "12";
/**
 * Flow-control window for requests. Requests are small, except first requests, which may wait for a buffer
 * (`MessageBuffers`).
 */
const windowBytes = 128 * 1024;
const lingerMs = 1000;
/** Encrypted connections that may have large batches copied at the same time. */
const writeSlots = 32;

const defaultMaxRequestBytes = 4 * 1024 * 1024;

const defaultMaxStreams = 100_000;

const http2Options = ({ maxStreams = defaultMaxStreams }: ListenOptions) => ({
  settings: { initialWindowSize: windowBytes, maxConcurrentStreams: maxStreams },
  // Node counts queued responses as memory of the session; they are shared between clients and bounded by the push
  // queue.
  maxSessionMemory: 4096,
});

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
  clock: Clock,
): Promise<Listener> {
  const { tls } = options;
  const secure =
    tls === undefined ? undefined : createSecureServer({ ...http2Options(options), ...secureServerOptions(tls) });
  const http2: Http2Server | Http2SecureServer = secure ?? createServer(http2Options(options));
  if (secure !== undefined) paceHandshakes(secure, clock);
  const sessions = new Set<ServerHttp2Session>();
  const calls: SessionCalls = new WeakMap();
  http2.on("session", (session: ServerHttp2Session) => {
    sessions.add(session);
    session.setLocalWindowSize(windowBytes);
    session.on("error", () => session.destroy());
    session.once("close", () => sessions.delete(session));
    keepAlive(session, options.keepAlive ?? { intervalMs: 30_000, timeoutMs: 10_000 }, clock);
    if (options.maxAge !== undefined)
      limitAge(session, options.maxAge, clock, () => calls.get(session)?.forEach((call) => call.end(maxAgeReached())));
  });
  http2.on("stream", streamListener(server, options, calls, clock));

  const host = options.host ?? "127.0.0.1";
  await new Promise<void>((resolve, reject) => {
    http2.once("error", reject);
    http2.listen(options.port, host, () => {
      http2.off("error", reject);
      // A failure to accept one connection does not affect the others.
      http2.on("error", () => undefined);
      resolve();
    });
  });
  return {
    host,
    port: (http2.address() as AddressInfo).port,
    renew: (renewed) => secure?.setSecureContext(contextOptions(renewed)),
    close: () => {
      http2.close();
    },
    goAway: () => {
      for (const session of sessions) if (!session.destroyed) session.goaway();
    },
    shutdown: () =>
      new Promise((resolve) => {
        http2.once("close", resolve);
        http2.close();
        for (const session of sessions) if (!session.destroyed) session.close();
        clock.after(lingerMs, () => {
          for (const session of sessions) session.destroy();
        });
      }),
  };
}

/** Open discovery calls by HTTP/2 session. */
type SessionCalls = WeakMap<object, Set<GrpcCall>>;

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
  calls: SessionCalls,
  clock: Clock,
): StreamListener {
  const viaConnect = options.transport === "connect";
  const maxRequestBytes = options.maxRequestBytes ?? defaultMaxRequestBytes;
  const others = additionalServices(server, options, maxRequestBytes);
  const buffers = new MessageBuffers(clock);
  const slots = options.tls === undefined ? undefined : new WriteSlots(writeSlots, clock);
  return (stream, headers, flags, rawHeaders) => {
    const path = headers[":path"] ?? "";
    const method = viaConnect ? undefined : discoveryMethods.get(path);
    const handler = options.calls?.get(path);
    if (method === undefined && handler === undefined) others.emit("stream", stream, headers, flags, rawHeaders);
    else if (headers[":method"] !== "POST") stream.respond({ ":status": 405 }, { endStream: true });
    else if (!isGrpc(headers["content-type"])) stream.respond({ ":status": 415 }, { endStream: true });
    else if (method === undefined) handler?.(stream, headers);
    else {
      const call = new GrpcCall(stream, headers, method, clock, slots);
      if (options.maxAge !== undefined && stream.session !== undefined) trackCall(calls, stream.session, stream, call);
      call.serve(server.accept(call), maxRequestBytes, buffers);
    }
  };
}

function trackCall(calls: SessionCalls, session: object, stream: ServerHttp2Stream, call: GrpcCall): void {
  const ofSession = calls.get(session) ?? new Set();
  calls.set(session, ofSession.add(call));
  stream.once("close", () => ofSession.delete(call));
}

function maxAgeReached(): ConnectError {
  return new ConnectError("max connection age reached, closing stream", Code.Unavailable);
}

/**
 * Creates a server that does not listen and serves the streams it is passed, with Connect's handlers for the additional
 * services.
 */
function additionalServices(
  server: Pick<XdsServer, "accept">,
  options: ListenOptions,
  maxRequestBytes: number,
): Http2Server {
  return createServer(
    {},
    connectNodeAdapter({
      routes: (router) => {
        if (options.transport === "connect") discoveryRoutes(router, (call) => server.accept(call));
        options.routes?.(router);
      },
      readMaxBytes: maxRequestBytes,
      contextValues: (request) => {
        const session = "stream" in request ? (request.stream.session as ServerHttp2Session | undefined) : undefined;
        return createContextValues().set(peerKey, peerOf(session, request.headers));
      },
      fallback: (request, response) => {
        if (isGrpc(request.headers["content-type"])) {
          response.writeHead(200, {
            "content-type": "application/grpc",
            "grpc-status": grpcUnimplemented,
            "grpc-message": "unknown method",
          });
        } else response.writeHead(404);
        response.end();
      },
    }),
  );
}

function isGrpc(contentType: string | undefined): boolean {
  return contentType === "application/grpc" || contentType === "application/grpc+proto";
}
