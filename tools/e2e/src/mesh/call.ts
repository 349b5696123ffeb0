import { request as httpRequest, type Agent, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import type { SecureVersion, TLSSocket } from "node:tls";
import type { Seen } from "./application.js";

export interface CallOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly agent?: Agent | false;
  /** Milliseconds. Default: 15 s. */
  readonly timeout?: number;
  /** For `https:`. The server is verified unless `isUnverified` is set, and its name unless `anyName` is set. */
  readonly tls?: {
    readonly ca?: string;
    readonly key?: string;
    readonly cert?: string;
    readonly anyName?: boolean;
    readonly isUnverified?: boolean;
    /** ALPN protocols. Default: `http/1.1`. */
    readonly protocols?: readonly string[];
    readonly version?: SecureVersion;
  };
}

/** The response to a call. */
export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The request as the application received it; undefined if no application responded. */
  readonly seen: Seen | undefined;
  /** The server's certificate, for `https:`. */
  readonly certificate: ReturnType<TLSSocket["getPeerX509Certificate"]>;
}

/**
 * Sends a request for a URL to an address that may differ from the URL's host.
 *
 * @throws Error of the socket if there is no response
 */
export function call(address: string, url: string, options: CallOptions = {}): Promise<Answered> {
  const { protocol, hostname, port, host, pathname, search } = new URL(url);
  const tls = options.tls ?? {};
  const common = {
    host: address,
    port: Number(port || (protocol === "https:" ? 443 : 80)),
    method: options.method ?? "GET",
    path: pathname + search,
    headers: { host, ...options.headers },
    agent: options.agent ?? false,
    timeout: options.timeout ?? 15_000,
  };
  return new Promise((resolve, reject) => {
    const outgoing =
      protocol === "https:"
        ? httpsRequest({
            ...common,
            servername: hostname,
            ca: tls.ca,
            key: tls.key,
            cert: tls.cert,
            rejectUnauthorized: tls.isUnverified !== true,
            ...(tls.protocols ? { ALPNProtocols: [...tls.protocols] } : {}),
            ...(tls.version ? { minVersion: tls.version, maxVersion: tls.version } : {}),
            ...(tls.anyName ? { checkServerIdentity: () => undefined } : {}),
          })
        : httpRequest(common);
    outgoing.on("response", (response) => {
      const certificate = protocol === "https:" ? (response.socket as TLSSocket).getPeerX509Certificate() : undefined;
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          seen: seenIn(text),
          certificate,
        }),
      );
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error(`${url}: no response within ${common.timeout} ms`)));
    outgoing.on("error", reject);
    outgoing.end();
  });
}

/** Returns the request that an application responds with; undefined if another server responded. */
export function seenIn(text: string): Seen | undefined {
  try {
    const value = JSON.parse(text) as Partial<Seen>;
    return value.workload === undefined ? undefined : (value as Seen);
  } catch {
    return undefined;
  }
}
