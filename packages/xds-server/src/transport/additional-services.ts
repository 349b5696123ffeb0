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
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { encodeFrame } from "@istiod/protobuf-wire";
import type { LimitObserver } from "../limits/limit-reason.js";
import { identifyPeer } from "../limits/peer-key.js";
import { peerKey, peerOf } from "./peer.js";
import { readRequests, type RequestLimits } from "./request-intake.js";

const grpcUnimplemented = "12";
/** Time after the response in which a client that is still sending may stop by itself. */
const lingerMs = 1000;

export interface AdditionalServicesOptions {
  readonly routes: (router: ConnectRouter) => void;
  readonly limits: RequestLimits;
  readonly limited: LimitObserver;
}

/** Serves a stream of a service other than the discovery services. */
export type StreamHandler = (stream: ServerHttp2Stream, ...rest: readonly unknown[]) => void;

/**
 * Serves additional services with Connect's handlers. The request of a unary method is read within the limits of
 * unfinished requests, and passed to its handler as a whole.
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
    const { key } = identifyPeer(peerOf(request.stream.session as Parameters<typeof peerOf>[0], request.headers));
    const stop = readRequests(request.stream, key, limits, {
      message(message) {
        // The memory of the message is released once it is copied for the handler, which is bounded by itself.
        const body = encodeFrame(message);
        stop();
        void call(handler, request, response, body, contextValues(request));
        return undefined;
      },
      halfClosed: () => fail(response, new ConnectError("missing request message", Code.Unimplemented)),
      failed(error, reason) {
        if (reason !== undefined) limited(reason, key);
        fail(response, ConnectError.from(error));
      },
    });
    request.stream.once("close", stop);
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

async function call(
  handler: UniversalHandler,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  body: Uint8Array,
  contextValues: ReturnType<typeof createContextValues>,
): Promise<void> {
  try {
    const universal = universalRequestFromNodeRequest(request, response, undefined, contextValues);
    await universalResponseToNodeResponse(await handler({ ...universal, body: oneChunk(body) }), response);
  } catch (error) {
    if (!response.stream.destroyed) fail(response, ConnectError.from(error, Code.Internal));
  }
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
