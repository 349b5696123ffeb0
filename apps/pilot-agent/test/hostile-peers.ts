import http2 from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { encodeFrame, FrameReader } from "@istiod/protobuf-wire";
import { afterAll } from "vitest";
import { fileToken } from "../src/credentials/file-token.js";
import type { XdsRejection } from "../src/xds-proxy/agent-resources.js";
import { XdsProxy, type XdsProxyOptions } from "../src/xds-proxy/xds-proxy.js";
import { scratch } from "./fakes.js";
import { recordingLog } from "./recording-log.js";

export const DELTA = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
export const SOTW = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

/**
 * Starts an HTTP/2 server in plaintext that responds with the headers of a gRPC stream.
 *
 * @param headers additional response headers
 * @returns its port
 */
export async function hostileIstiod(
  onStream: (stream: http2.ServerHttp2Stream, requestHeaders: http2.IncomingHttpHeaders) => void,
  headers: http2.OutgoingHttpHeaders = {},
): Promise<number> {
  const sessions = new Set<http2.ServerHttp2Session>();
  const server = http2.createServer({ settings: { initialWindowSize: 65_535 } });
  server.on("session", (session) => sessions.add(session.on("error", () => undefined)));
  server.on("stream", (stream, requestHeaders) => {
    stream.on("error", () => undefined);
    stream.respond({ ":status": 200, "content-type": "application/grpc", ...headers }, { waitForTrailers: true });
    onStream(stream, requestHeaders);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Starts a TCP server that never writes. */
export async function silentServer(onConnection: (socket: Socket) => void = () => undefined): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

export interface StartedProxy {
  readonly socket: string;
  readonly rejected: Partial<Record<XdsRejection, number>>;
  readonly failures: () => number;
  readonly proxy: XdsProxy;
  readonly messages: () => string[];
}

/** Starts an xDS proxy whose istiod has a port of 127.0.0.1, in plaintext. */
export async function startProxy(
  port: number,
  {
    upstream,
    ...more
  }: Partial<Omit<XdsProxyOptions, "upstream">> & { upstream?: Partial<XdsProxyOptions["upstream"]> } = {},
): Promise<StartedProxy> {
  const socket = join(await scratch(), "XDS");
  const rejected: Partial<Record<XdsRejection, number>> = {};
  let failed = 0;
  const { log, messages } = recordingLog();
  const proxy = new XdsProxy({
    socket,
    upstream: { address: `127.0.0.1:${port}`, token: fileToken("/none"), clusterId: "", ...upstream },
    events: {
      rejected: (reason) => (rejected[reason] = (rejected[reason] ?? 0) + 1),
      connectionFailed: () => failed++,
    },
    log,
    ...more,
  });
  await proxy.start();
  afterAll(() => proxy.close());
  return { socket, rejected, failures: () => failed, proxy, messages };
}

export interface RawEnvoy {
  readonly session: http2.ClientHttp2Session;
  readonly stream: http2.ClientHttp2Stream;
  readonly messages: Buffer[];
  /** gRPC status, once the stream has ended. */
  readonly status: () => string | undefined;
  readonly isClosed: () => boolean;
  send(message: Uint8Array): Promise<void>;
  /** Writes chunks one after another, each when the system has accepted the one before. @returns their number so far */
  flood(chunks: Iterable<Uint8Array>): () => number;
}

/** Opens a stream to an xDS proxy as Envoy does. */
export function rawEnvoy(
  socket: string,
  path = DELTA,
  session = http2.connect("http://agent", { createConnection: () => connect(socket) }).on("error", () => undefined),
): RawEnvoy {
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
  const messages: Buffer[] = [];
  const reader = new FrameReader();
  let headers: http2.IncomingHttpHeaders = {};
  let closed = false;
  stream.on("error", () => undefined);
  stream.on("close", () => (closed = true));
  stream.on("trailers", (trailers) => (headers = trailers));
  stream.on("data", (bytes: Buffer) => messages.push(...reader.push(bytes).map(({ message }) => message)));
  afterAll(() => session.destroy());
  const write = (bytes: Uint8Array): Promise<void> => new Promise((resolve) => stream.write(bytes, () => resolve()));
  return {
    session,
    stream,
    messages,
    status: () => headers["grpc-status"] as string | undefined,
    isClosed: () => closed,
    send: (message) => write(encodeFrame(message)),
    flood(chunks) {
      let accepted = 0;
      void (async () => {
        for (const chunk of chunks) await write(chunk).then(() => accepted++);
      })();
      return () => accepted;
    },
  };
}

/** Resolves when a number has not changed for several reads in a row. */
export async function settled(read: () => number, reads = 10): Promise<number> {
  for (let same = 0, last = read(); ;) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    same = read() === last ? same + 1 : 0;
    last = read();
    if (same >= reads) return last;
  }
}
