import http, { type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import https from "node:https";
import type { ProbeTarget } from "./probe.js";

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
    const { status, body, location } = await sendRequest({ ...probe, path }, signal);
    if (status < 300 || status >= 400 || location === undefined) return { status, body };
    const base = `${origin}${path}`;
    const next = URL.canParse(location, base) ? new URL(location, base) : undefined;
    if (!next || next.origin !== new URL(origin).origin) return { status: 200, body: "" };
    path = `${next.pathname}${next.search}`;
  }
  throw new Error(`more than ${MAX_REDIRECTS} redirects`);
}

type LocatedResponse = HttpResponse & { readonly location?: string };

/** Sends a request. Settles at the latest when the signal aborts. */
function sendRequest(probe: HttpProbe, signal: AbortSignal): Promise<LocatedResponse> {
  const { host, port, path, https: secure, headers, timeout, localAddress } = probe;
  return new Promise((resolve, reject) => {
    const options = {
      host,
      port,
      path,
      headers,
      agent: false as const,
      maxHeaderSize: MAX_HEADER_BYTES,
      ...(localAddress ? { localAddress } : {}),
    };
    const call = secure ? https.request({ ...options, rejectUnauthorized: false }) : http.request(options);
    const end = (outcome: Error | LocatedResponse): void => {
      signal.removeEventListener("abort", abort);
      call.destroy();
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    const abort = (): void => end(new Error(`no response within ${timeout / 1000}s`));
    signal.addEventListener("abort", abort, { once: true });
    call.on("error", end);
    call.on("close", () => end(new Error("connection closed before the end of the response")));
    call.on("response", (response) => readResponse(response, end));
    call.end();
    if (signal.aborted) abort();
  });
}

/** Reads a response until its end or the limit of its body. */
function readResponse(response: IncomingMessage, end: (outcome: Error | LocatedResponse) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  const finish = (): void => {
    const { location } = response.headers;
    const { statusCode = 0 } = response;
    if (statusCode < 100) return end(new Error(`impossible HTTP status ${statusCode}`));
    const body = Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES).toString("utf8");
    end({ status: statusCode, body, ...(location === undefined ? {} : { location }) });
  };
  response.on("error", end);
  response.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= MAX_BODY_BYTES) finish();
  });
  response.on("end", finish);
}
