import { execFile } from "node:child_process";
import http, { type OutgoingHttpHeaders } from "node:http";
import https from "node:https";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { encodeFrame, FrameReader } from "@istiod/protobuf-wire";

/** Target of a probe. */
export interface ProbeTarget {
  readonly host: string;
  readonly port: number;
  /** Timeout in milliseconds. */
  readonly timeout: number;
  /** Source address, which the redirection rules exempt. */
  readonly localAddress?: string;
}

export interface HttpProbe extends ProbeTarget {
  readonly path: string;
  readonly https: boolean;
  readonly headers: OutgoingHttpHeaders;
}

/** An application's response, with at most 10 KiB of its body. */
export interface HttpResponse {
  readonly status: number;
  readonly body: string;
}

const MAX_BODY_BYTES = 10 * 1024;
const MAX_REDIRECTS = 10;

/**
 * Sends an HTTP request as the kubelet does: certificates are not verified, and redirects on the same host are followed.
 * A redirect to another host is a success.
 */
export async function probeHttp(probe: HttpProbe): Promise<HttpResponse> {
  let path = probe.path.startsWith("/") ? probe.path : `/${probe.path}`;
  let secure = probe.https;
  let { port } = probe;
  for (let count = 0; count <= MAX_REDIRECTS; count++) {
    const { status, body, location } = await sendRequest({ ...probe, path, https: secure, port });
    if (status < 300 || status >= 400 || location === undefined) return { status, body };
    const base = `${secure ? "https" : "http"}://${probe.host.includes(":") ? `[${probe.host}]` : probe.host}:${port}${path}`;
    const next = URL.canParse(location, base) ? new URL(location, base) : undefined;
    if (!next || next.hostname !== new URL(base).hostname) return { status: 200, body: "" };
    path = `${next.pathname}${next.search}`;
    secure = next.protocol === "https:";
    port = Number(next.port) || (secure ? 443 : 80);
  }
  throw new Error(`more than ${MAX_REDIRECTS} redirects`);
}

function sendRequest({
  host,
  port,
  path,
  https: secure,
  headers,
  timeout,
  localAddress,
}: HttpProbe): Promise<HttpResponse & { location?: string }> {
  return new Promise((resolve, reject) => {
    const options = {
      host,
      port,
      path,
      headers,
      agent: false as const,
      signal: AbortSignal.timeout(timeout),
      ...(localAddress ? { localAddress } : {}),
    };
    const call = (secure ? https.request({ ...options, rejectUnauthorized: false }) : http.request(options)).on(
      "error",
      reject,
    );
    call.on("response", (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("error", reject);
      response.on("data", (chunk: Buffer) => {
        if (size < MAX_BODY_BYTES) chunks.push(chunk);
        size += chunk.length;
      });
      response.on("end", () => {
        const { location } = response.headers;
        resolve({
          status: response.statusCode ?? 0,
          body: Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES).toString("utf8"),
          ...(location === undefined ? {} : { location }),
        });
      });
    });
    call.end();
  });
}

/** Opens a TCP connection and closes it. */
export function probeTcp({ host, port, timeout, localAddress }: ProbeTarget): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout, ...(localAddress ? { localAddress } : {}) });
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    socket.once("connect", () => {
      socket.destroy();
      resolve();
    });
    socket.once("timeout", () => fail(new Error(`no connection within ${timeout / 1000}s`)));
    socket.once("error", fail);
  });
}

const SERVING = 1;

/** Calls `grpc.health.v1.Health/Check`. Rejects unless the status is SERVING. */
export function probeGrpc({
  host,
  port,
  timeout,
  localAddress,
  service,
}: ProbeTarget & { readonly service: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, ...(localAddress ? { localAddress } : {}) });
    const session = connectHttp2(`http://${host.includes(":") ? `[${host}]` : host}:${port}`, {
      createConnection: () => socket,
    });
    const done = (error?: Error): void => {
      clearTimeout(timer);
      session.destroy();
      if (error) reject(error);
      else resolve();
    };
    const timer = setTimeout(() => done(new Error(`no response within ${timeout / 1000}s`)), timeout);
    session.on("error", done);
    const stream = session.request({
      ":method": "POST",
      ":path": "/grpc.health.v1.Health/Check",
      "content-type": "application/grpc",
      te: "trailers",
    });
    const reader = new FrameReader();
    let status: number | undefined;
    const judge = (code: unknown): void => {
      if (code === "0" && status === SERVING) done();
      else
        done(
          new Error(
            code === "0"
              ? `health status ${status ?? 0}, expected ${SERVING} (SERVING)`
              : `gRPC status ${String(code)}`,
          ),
        );
    };
    stream.on("error", done);
    stream.on("data", (bytes: Buffer) => {
      for (const { message } of reader.push(bytes)) status = message[0] === 0x08 ? message[1] : 0;
    });
    let final: unknown;
    stream.on("response", (headers) => (final = headers["grpc-status"]));
    stream.on("trailers", (trailers) => (final = trailers["grpc-status"]));
    stream.on("end", () => judge(final));
    const name = Buffer.from(service);
    stream.end(
      encodeFrame(name.length === 0 ? new Uint8Array() : Buffer.concat([Buffer.from([0x0a, name.length]), name])),
    );
  });
}

/** Runs a command. Rejects if its exit code is not 0. */
export function probeExec(command: readonly string[], timeout: number): Promise<void> {
  const [file = "", ...args] = command;
  return new Promise((resolve, reject) => {
    execFile(file, args, { timeout }, (error, _out, err) => {
      if (error) reject(new Error(`${file}: ${err.trim().split("\n").at(-1) || error.message}`));
      else resolve();
    });
  });
}
