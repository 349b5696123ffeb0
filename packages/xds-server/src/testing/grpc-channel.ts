import { type ClientHttp2Session, type ClientHttp2Stream, connect, type SecureClientSessionOptions } from "node:http2";
import type { Socket } from "node:net";
import { gunzipSync } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { encodeFrame, FrameReader } from "@istiod/protobuf-wire";
import type { Channel, ChannelEvents } from "./channel.js";

/** The address of a server. */
export interface Address {
  readonly host: string;
  readonly port: number;
  /** Default: plaintext. */
  readonly tls?: SecureClientSessionOptions;
  /** Address of this machine to connect from. Default: the system's choice. */
  readonly localAddress?: string;
  /**
   * Interval of HTTP/2 pings in milliseconds. The stream ends when nothing is received for an interval after a ping, or
   * no connection is established within two. Default: no pings.
   */
  readonly keepAliveMs?: number;
}

type Finish = (error: ConnectError | undefined) => void;

/** HTTP/2 flow control window of the client, for the stream and for the connection. */
const windowBytes = 1024 * 1024;

/**
 * Opens a gRPC stream on an HTTP/2 connection of its own. Messages may be compressed if the headers have
 * `"grpc-accept-encoding": "gzip"`.
 */
export function openGrpc(
  address: Address,
  path: string,
  headers: Readonly<Record<string, string>>,
  events: ChannelEvents,
): Channel {
  const { session, destroy } = openSession(address);
  let over = false;
  const finish: Finish = (error) => {
    if (over) return;
    over = true;
    destroy();
    events.ended(error);
  };
  session.on("error", (error) => finish(new ConnectError(error.message, Code.Unavailable)));
  session.on("close", () => finish(new ConnectError("the connection was closed", Code.Unavailable)));
  if (address.keepAliveMs !== undefined)
    keepAlive(session, address.keepAliveMs, () => finish(new ConnectError("a ping timed out", Code.Unavailable)));
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  finishWithStatus(session, stream, finish);
  const reader = new FrameReader(undefined, { acceptsCompressed: "grpc-accept-encoding" in headers });
  stream.on("data", (chunk: Buffer) => {
    for (const { message, isCompressed } of reader.push(chunk))
      if (!over) events.message(isCompressed ? gunzipSync(message) : message);
  });
  return {
    send: (message) => void (stream.writable && stream.write(encodeFrame(message))),
    halfClose: () => void stream.end(),
    cancel: () => finish(new ConnectError("cancelled", Code.Canceled)),
    pause: (value) => void (value ? stream.pause() : stream.resume()),
  };
}

interface OpenSession {
  readonly session: ClientHttp2Session;
  /** Destroys the session and its socket: while a write is blocked, Node keeps the socket of a destroyed session. */
  destroy(): void;
}

function openSession({ host, port, tls, localAddress }: Address): OpenSession {
  const session = connect(`${tls === undefined ? "http" : "https"}://${host}:${port}`, {
    settings: { initialWindowSize: windowBytes },
    ...tls,
    ...(localAddress !== undefined && { localAddress }),
  } satisfies SecureClientSessionOptions & { readonly localAddress?: string });
  let socket: Socket | undefined;
  session.once("connect", (_, connected) => {
    socket = connected;
    // The session may have ended in the same turn.
    if (!session.destroyed) session.setLocalWindowSize(windowBytes);
  });
  return {
    session,
    destroy: () => {
      session.destroy();
      socket?.destroy();
    },
  };
}

/**
 * Pings the server, and calls `lost` when nothing was received since the ping before. Node 20 reports no end of a TLS
 * connection whose peer was killed while a write was blocked.
 */
function keepAlive(session: ClientHttp2Session, ms: number, lost: () => void): void {
  const received = (): number => session.socket?.bytesRead ?? 0;
  let before = -1;
  const timer = setInterval(() => {
    if (session.destroyed) return;
    // Bytes that came while this process was busy are read before immediates run.
    if (received() === before) return void setImmediate(() => !session.destroyed && received() === before && lost());
    before = received();
    session.ping(() => undefined);
  }, ms);
  session.once("close", () => clearInterval(timer));
}

/** Calls `finish` with the gRPC status when the stream ends, or with an error if it is reset without one. */
function finishWithStatus(session: ClientHttp2Session, stream: ClientHttp2Stream, finish: Finish): void {
  let connected = false;
  session.on("connect", () => (connected = true));
  let status: ConnectError | undefined;
  let hasStatus = false;
  const readStatus = (fields: object): void => {
    if (!("grpc-status" in fields)) return;
    hasStatus = true;
    const plain = Object.entries(fields).filter(([name]) => !name.startsWith(":"));
    status = findTrailerError(new Headers(plain.map(([name, value]) => [name, String(value)])));
  };
  stream.on("error", () => undefined);
  stream.on("response", (fields) => {
    readStatus(fields);
    if (fields[":status"] === 200) return;
    hasStatus = true;
    status = new ConnectError(`HTTP status ${fields[":status"]}`, Code.Unknown);
  });
  stream.on("trailers", readStatus);
  stream.on("end", () => hasStatus && finish(status));
  stream.on("close", () => {
    if (!connected) return;
    const reset = new ConnectError(`the stream was reset (HTTP/2 error ${stream.rstCode})`, Code.Canceled);
    finish(hasStatus ? status : reset);
  });
}
