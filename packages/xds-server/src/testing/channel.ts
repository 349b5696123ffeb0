import { encodeFrame, FrameReader } from "@istiod/protobuf-wire";
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import type { SecureClientSessionOptions } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import type { Variant } from "../events.js";
import type { XdsServer } from "../api.js";
import type { Peer } from "../source.js";
import type { Call, DiscoveryMethod, OutgoingMessage } from "../transport/call.js";
import { decodeRequest } from "../wire/request.js";

/** The client side of one gRPC stream of a discovery service, with encoded messages. */
export interface Channel {
  send(message: Uint8Array): void;
  /** Half-closes the stream. */
  halfClose(): void;
  /** Resets the stream. */
  cancel(): void;
  /** Stops or resumes reading, so that the server is blocked. */
  pause(paused: boolean): void;
}

export interface ChannelEvents {
  message(message: Uint8Array): void;
  /** Called when the stream has ended; undefined means status OK. */
  ended(error: ConnectError | undefined): void;
}

/** The address of a server. */
export interface Address {
  readonly host: string;
  readonly port: number;
  /** Default: plaintext. */
  readonly tls?: SecureClientSessionOptions;
}

export type Target = XdsServer | Address;

/** Opens a stream: in memory if the target is a server, over gRPC if it is an address. */
export function openChannel(
  target: Target,
  variant: Variant,
  events: ChannelEvents,
  options: { readonly headers?: Readonly<Record<string, string>>; readonly peer?: Peer; readonly path?: string } = {},
): Channel {
  const method: DiscoveryMethod = { variant, typeUrl: undefined };
  if ("accept" in target)
    return inMemory(
      target,
      method,
      options.peer ?? { address: "memory", port: 0, headers: options.headers ?? {} },
      events,
    );
  const rpc = variant === "delta" ? "DeltaAggregatedResources" : "StreamAggregatedResources";
  const path = options.path ?? `/envoy.service.discovery.v3.AggregatedDiscoveryService/${rpc}`;
  return overGrpc(target, path, options.headers ?? {}, events);
}

function inMemory(server: XdsServer, method: DiscoveryMethod, peer: Peer, events: ChannelEvents): Channel {
  let paused = false;
  let over = false;
  let waiting: OutgoingMessage[] = [];
  const finish = (error: ConnectError | undefined): void => {
    if (over) return;
    over = true;
    handler.closed("the stream ended");
    setImmediate(() => events.ended(error));
  };
  const call: Call & { outstandingBytes: number } = {
    peer,
    method,
    outstandingBytes: 0,
    copies: false,
    send(message) {
      call.outstandingBytes += message.length;
      waiting.push(message);
      setImmediate(deliver);
    },
    end: (error) => setImmediate(() => (deliver(), finish(error))),
    abort: () => finish(new ConnectError("the stream was reset", Code.Canceled)),
  };
  const deliver = (): void => {
    if (paused || over) return;
    const messages = waiting;
    waiting = [];
    for (const { head, bodies, length } of messages) {
      events.message(Buffer.concat([head, ...bodies.flatMap(({ pieces }) => pieces)], length));
      call.outstandingBytes -= length;
    }
    if (messages.length > 0) handler.progressed();
  };
  const handler = server.accept(call);
  let requests = Promise.resolve();
  return {
    send(message) {
      const request = decodeRequest(method.variant, Buffer.from(message));
      requests = requests.then(() => (over ? undefined : handler.request(request, message.length)));
    },
    halfClose: () => void requests.then(() => handler.halfClosed()),
    cancel: () => finish(new ConnectError("cancelled", Code.Canceled)),
    pause(value) {
      paused = value;
      setImmediate(deliver);
    },
  };
}

const windowBytes = 1024 * 1024;

function overGrpc(
  address: Address,
  path: string,
  headers: Readonly<Record<string, string>>,
  events: ChannelEvents,
): Channel {
  const scheme = address.tls === undefined ? "http" : "https";
  const session: ClientHttp2Session = connect(`${scheme}://${address.host}:${address.port}`, {
    settings: { initialWindowSize: windowBytes },
    ...address.tls,
  });
  let over = false;
  const finish = (error: ConnectError | undefined): void => {
    if (over) return;
    over = true;
    session.destroy();
    events.ended(error);
  };
  session.on("error", (error) => finish(new ConnectError(error.message, Code.Unavailable)));
  session.on("close", () => finish(new ConnectError("the connection was closed", Code.Unavailable)));
  let connected = false;
  session.on("connect", () => {
    connected = true;
    session.setLocalWindowSize(windowBytes);
  });
  const stream: ClientHttp2Stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  stream.on("error", () => undefined);
  let status: ConnectError | undefined;
  let hasStatus = false;
  const readStatus = (fields: object): void => {
    if (!("grpc-status" in fields)) return;
    hasStatus = true;
    const plain = Object.entries(fields).filter(([name]) => !name.startsWith(":"));
    status = findTrailerError(new Headers(plain.map(([name, value]) => [name, String(value)])));
  };
  stream.on("response", (fields) => {
    readStatus(fields);
    if (fields[":status"] !== 200) {
      hasStatus = true;
      status = new ConnectError(`HTTP status ${fields[":status"]}`, Code.Unknown);
    }
  });
  stream.on("trailers", readStatus);
  stream.on("close", () => {
    if (!connected) return;
    finish(
      hasStatus ? status : new ConnectError(`the stream was reset (HTTP/2 error ${stream.rstCode})`, Code.Canceled),
    );
  });
  stream.on("end", () => hasStatus && finish(status));
  const reader = new FrameReader();
  stream.on("data", (chunk: Buffer) => {
    for (const { message } of reader.push(chunk)) if (!over) events.message(message);
  });
  return {
    send: (message) => void (stream.writable && stream.write(encodeFrame(message))),
    halfClose: () => void stream.end(),
    cancel: () => finish(new ConnectError("cancelled", Code.Canceled)),
    pause: (value) => void (value ? stream.pause() : stream.resume()),
  };
}
