import http, { type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import http2 from "node:http2";
import { isIP } from "node:net";
import type { Readable } from "node:stream";
import { connect, type TLSSocket } from "node:tls";
import type { ProbeTarget } from "./probe.js";

export interface HttpProbe extends ProbeTarget {
  readonly path: string;
  readonly https: boolean;
  readonly headers: OutgoingHttpHeaders;
  /** Offers HTTP/2 to a server with TLS, as the kubelet does. Default: true. */
  readonly offersHttp2?: boolean;
}

/** An application's response, with at most 10 KiB of its body. */
export interface HttpResponse {
  readonly status: number;
  readonly body: string;
}

const MAX_BODY_BYTES = 10 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_REDIRECTS = 10;

/**
 * Sends an HTTP request as the kubelet does: certificates are not verified, and redirects to the same host, port and
 * scheme are followed. Any other redirect is a success, as for the kubelet, but is not followed: the probe's author
 * chose a port of the workload, and the application must not lead the agent to another.
 */
export async function probeHttp(probe: HttpProbe): Promise<HttpResponse> {
  const signal = AbortSignal.timeout(probe.timeout);
  const origin = `${probe.https ? "https" : "http"}://${probe.host.includes(":") ? `[${probe.host}]` : probe.host}:${probe.port}`;
  let path = probe.path.startsWith("/") ? probe.path : `/${probe.path}`;
  for (let count = 0; count <= MAX_REDIRECTS; count++) {
    const { status, body, location } = await sendProbe({ ...probe, path }, signal);
    if (status < 300 || status >= 400 || location === undefined) return { status, body };
    const base = `${origin}${path}`;
    const next = URL.canParse(location, base) ? new URL(location, base) : undefined;
    if (!next || next.origin !== new URL(origin).origin) return { status: 200, body: "" };
    path = `${next.pathname}${next.search}`;
  }
  throw new Error(`more than ${MAX_REDIRECTS} redirects`);
}

type LocatedResponse = HttpResponse & { readonly location?: string };

/** Sends a request in the version of HTTP that the server chooses. */
async function sendProbe(probe: HttpProbe, signal: AbortSignal): Promise<LocatedResponse> {
  if (!probe.https) return sendRequest(probe, signal);
  const socket = await connectTls(probe, signal);
  return socket.alpnProtocol === "h2" ? sendHttp2(socket, probe, signal) : sendRequest(probe, signal, socket);
}

/** Sends a request. Settles at the latest when the signal aborts. */
function sendRequest(probe: HttpProbe, signal: AbortSignal, socket?: TLSSocket): Promise<LocatedResponse> {
  const { host, port, path, headers, localAddress } = probe;
  return new Promise((resolve, reject) => {
    const options = {
      host,
      port,
      path,
      headers,
      maxHeaderSize: MAX_HEADER_BYTES,
      ...(localAddress ? { localAddress } : {}),
      ...(socket ? { createConnection: () => socket } : { agent: false as const }),
    };
    const call = http.request(options);
    const end = (outcome: Error | LocatedResponse): void => {
      signal.removeEventListener("abort", abort);
      call.destroy();
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    const abort = (): void => end(tooLate(probe));
    signal.addEventListener("abort", abort, { once: true });
    call.on("error", end);
    call.on("close", () => end(new Error("connection closed before the end of the response")));
    call.on("response", (response) => readResponse(response, end));
    call.end();
    if (signal.aborted) abort();
  });
}

/** Opens a connection whose certificate is not verified. Settles at the latest when the signal aborts. */
function connectTls(probe: HttpProbe, signal: AbortSignal): Promise<TLSSocket> {
  const { host, port, localAddress, headers, offersHttp2 = true } = probe;
  const named = String(headers["host"] ?? host).replace(/:\d+$/, "");
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port,
      rejectUnauthorized: false,
      ALPNProtocols: [...(offersHttp2 ? ["h2"] : []), "http/1.1"],
      ...(isIP(named.replace(/^\[|\]$/g, "")) === 0 && { servername: named }),
      ...(localAddress && { localAddress }),
    });
    const fail = (error: Error): void => {
      signal.removeEventListener("abort", abort);
      socket.destroy();
      reject(error);
    };
    const abort = (): void => fail(tooLate(probe));
    signal.addEventListener("abort", abort, { once: true });
    socket.once("error", fail);
    socket.once("secureConnect", () => {
      signal.removeEventListener("abort", abort);
      socket.off("error", fail);
      resolve(socket);
    });
    if (signal.aborted) abort();
  });
}

const tooLate = ({ timeout }: HttpProbe): Error => new Error(`no response within ${timeout / 1000}s`);

/** Sends a request by HTTP/2. Settles at the latest when the signal aborts. */
function sendHttp2(socket: TLSSocket, probe: HttpProbe, signal: AbortSignal): Promise<LocatedResponse> {
  const { host: authority, ...headers } = probe.headers;
  const origin = `https://${probe.host.includes(":") ? `[${probe.host}]` : probe.host}:${probe.port}`;
  return new Promise((resolve, reject) => {
    const settings = { enablePush: false, maxHeaderListSize: MAX_HEADER_BYTES };
    const session = http2.connect(origin, { createConnection: () => socket, settings });
    const end = (outcome: Error | LocatedResponse): void => {
      signal.removeEventListener("abort", abort);
      session.destroy();
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    const abort = (): void => end(tooLate(probe));
    signal.addEventListener("abort", abort, { once: true });
    session.on("error", end);
    session.on("close", () => end(new Error("connection closed before the end of the response")));
    const stream = session.request({ ...headers, ":path": probe.path, ...(authority && { ":authority": authority }) });
    stream.on("error", end);
    stream.on("response", ({ ":status": status = 0, location }) =>
      readBody(stream, { status, location: location?.toString() }, end),
    );
    if (signal.aborted) abort();
  });
}

/** Reads a response of HTTP/1.1. */
function readResponse(response: IncomingMessage, end: (outcome: Error | LocatedResponse) => void): void {
  const { statusCode: status = 0, headers } = response;
  if (status < 100) return end(new Error(`impossible HTTP status ${status}`));
  readBody(response, { status, location: headers.location }, end);
}

interface Head {
  readonly status: number;
  readonly location: string | undefined;
}

/** Reads a body until its end or its limit. */
function readBody(stream: Readable, { status, location }: Head, end: (outcome: Error | LocatedResponse) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  const finish = (): void => {
    const body = Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES).toString("utf8");
    end({ status, body, ...(location === undefined ? {} : { location }) });
  };
  stream.on("error", end);
  stream.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= MAX_BODY_BYTES) finish();
  });
  stream.on("end", finish);
}
