import {
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Stream,
  constants,
} from "node:http2";
import { Code, ConnectError, type ConnectRouter, createConnectRouter, createContextValues } from "@connectrpc/connect";
import {
  connectNodeAdapter,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { parseTimeout, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { encodeFrame } from "@istiod/protobuf-wire";
import type { LimitObserver } from "../limits/limit-reason.js";
import { identifyPeer } from "../limits/peer-key.js";
import { peerKey, peerOf } from "./peer.js";
import { readRequests, type RequestLimits } from "./request-intake.js";

const grpcUnimplemented = "12";
/** Time after the response in which a client that is still sending may stop by itself. */
const lingerMs = 1000;
/** The longest time of Node's timers. */
const maxTimeoutMs = 2 ** 31 - 1;

export interface AdditionalServicesOptions {
  readonly routes: (router: ConnectRouter) => void;
  readonly limits: RequestLimits;
  readonly limited: LimitObserver;
}

/** Serves a stream of a service other than the discovery services. */
export type StreamHandler = (stream: ServerHttp2Stream, ...rest: readonly unknown[]) => void;

/**
 * Serves additional services with Connect's handlers. The request of a unary method is read within the limits of
 * unfinished requests, and passed to its handler as a whole. Once its deadline has passed (`grpc-timeout`), the call is
 * answered, and the signal of its handler aborted: Connect alone waits for the handler.
 */
export function additionalServices({ routes, limits, limited }: AdditionalServicesOptions): StreamHandler {
  const unary = unaryHandlers(routes, limits.maxRequestBytes);
  const contextValues = ({ stream, headers }: Http2ServerRequest) =>
    createContextValues().set(peerKey, peerOf(stream.session as Parameters<typeof peerOf>[0], headers));
  const streaming = connectNodeAdapter({
    routes,
    readMaxBytes: limits.maxRequestBytes,
    contextValues: (request) => contextValues(request as Http2ServerRequest),
    fallback: (request, response) => notFound(request as Http2ServerRequest, response as Http2ServerResponse),
  });
  const http2: Http2Server = createServer({}, (request, response) => {
    const handler = unary.get(request.url.split("?", 2)[0] ?? "");
    if (handler === undefined) return void streaming(request, response);
    if (!isGrpc(request.headers["content-type"])) return void response.writeHead(415).end();
    closeAfterResponse(request.stream, response, limits);
    const ending = new AbortController();
    const { key } = identifyPeer(peerOf(request.stream.session as Parameters<typeof peerOf>[0], request.headers));
    const stop = readRequests(request.stream, key, limits, {
      message(message) {
        // The memory of the message is released once it is copied for the handler, which is bounded by itself.
        const body = encodeFrame(message);
        stop();
        void call(handler, request, response, { body, contextValues: contextValues(request), signal: ending.signal });
        return undefined;
      },
      halfClosed: () => fail(response, new ConnectError("missing request message", Code.Unimplemented)),
      failed(error, reason) {
        if (reason !== undefined) limited(reason, key);
        fail(response, ConnectError.from(error));
      },
    });
    request.stream.once("close", stop);
    const timeoutMs = deadlineOf(request);
    if (timeoutMs === undefined) return;
    // Connect would abort the handler at the same time, and send the answer that it then gives.
    delete request.headers["grpc-timeout"];
    const stopDeadline = limits.timers.after(timeoutMs, () => {
      const error = new ConnectError("deadline exceeded", Code.DeadlineExceeded);
      stop();
      ending.abort(error);
      fail(response, error);
    });
    response.once("close", stopDeadline);
  });
  return (...stream) => void http2.emit("stream", ...stream);
}

/** Reports whether a content type is that of gRPC with protobuf. */
export function isGrpc(contentType: string | undefined): boolean {
  return contentType === "application/grpc" || contentType === "application/grpc+proto";
}

/** Returns the handlers of unary methods by path. */
function unaryHandlers(
  routes: (router: ConnectRouter) => void,
  readMaxBytes: number,
): ReadonlyMap<string, UniversalHandler> {
  const router = createConnectRouter({ readMaxBytes, connect: false, grpcWeb: false });
  routes(router);
  return new Map(
    router.handlers
      .filter(({ method }) => method.methodKind === "unary")
      .map((handler) => [handler.requestPath, handler]),
  );
}

interface UnaryCall {
  /** The request in a gRPC frame. */
  readonly body: Uint8Array;
  readonly contextValues: ReturnType<typeof createContextValues>;
  /** Aborted when the deadline has passed, and the call is answered. */
  readonly signal: AbortSignal;
}

async function call(
  handler: UniversalHandler,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  { body, contextValues, signal }: UnaryCall,
): Promise<void> {
  try {
    const universal = universalRequestFromNodeRequest(request, response, undefined, contextValues);
    const signals = AbortSignal.any([universal.signal, signal]);
    const answer = await handler({ ...universal, signal: signals, body: oneChunk(body) });
    if (!signal.aborted) await universalResponseToNodeResponse(answer, response);
  } catch (error) {
    if (!response.stream.destroyed) fail(response, ConnectError.from(error, Code.Internal));
  }
}

/**
 * Returns the milliseconds in `grpc-timeout`, at most 24 days; undefined if it is missing, or malformed, which the
 * handler rejects.
 */
function deadlineOf({ headers }: Http2ServerRequest): number | undefined {
  const header = headers["grpc-timeout"];
  if (typeof header !== "string") return undefined;
  const { timeoutMs } = parseTimeout(header, Number.MAX_SAFE_INTEGER);
  return timeoutMs === undefined ? undefined : Math.min(timeoutMs, maxTimeoutMs);
}

async function* oneChunk(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield chunk;
}

/** Ends a stream whose client keeps its sending side open after the response. */
function closeAfterResponse(stream: ServerHttp2Stream, response: Http2ServerResponse, { timers }: RequestLimits): void {
  response.once("finish", () =>
    timers.after(lingerMs, () => {
      if (!stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
    }),
  );
}

function fail(response: Http2ServerResponse, error: ConnectError): void {
  if (response.headersSent || response.stream.destroyed) return;
  const status = Object.fromEntries(setTrailerStatus(new Headers(), error));
  response.writeHead(200, { "content-type": "application/grpc", ...status });
  response.end();
}

function notFound({ headers }: Http2ServerRequest, response: Http2ServerResponse): void {
  if (isGrpc(headers["content-type"])) {
    response.writeHead(200, {
      "content-type": "application/grpc",
      "grpc-status": grpcUnimplemented,
      "grpc-message": "unknown method",
    });
  } else response.writeHead(404);
  response.end();
}
