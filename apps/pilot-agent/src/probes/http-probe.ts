import http, { type OutgoingHttpHeaders } from "node:http";
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
const MAX_REDIRECTS = 10;

/**
 * Sends an HTTP request as the kubelet does: certificates are not verified, and redirects on the same host are
 * followed. A redirect to another host is a success.
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
