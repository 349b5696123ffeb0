import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { isLoopback } from "../dns/local-addresses.js";

/** Reports whether a request comes from a loopback address. */
export function isLocal({ socket }: IncomingMessage): boolean {
  return isLoopback(socket.remoteAddress ?? "");
}

/**
 * Returns the target of a request; `undefined` unless it is a path in its normal form. Envoy's health port forwards
 * paths with the prefix `/healthz/ready` to the agent, which must not be left by dot segments.
 */
export function requestTarget(url: string | undefined): { readonly path: string; readonly search: string } | undefined {
  if (!url?.startsWith("/") || url.startsWith("//") || !URL.canParse(url, "http://agent")) return undefined;
  const { pathname, search, host } = new URL(url, "http://agent");
  return host === "agent" && url === `${pathname}${search}` ? { path: pathname, search } : undefined;
}

/**
 * Reports whether a browser may have sent a request on behalf of another site: by a cross-origin request, which has
 * another Origin than its Host, or by a DNS name that resolves to this machine's address (DNS rebinding). Tools on this
 * machine use an IP address or localhost, and send no Origin.
 */
export function isFromOtherSite({ headers }: IncomingMessage): boolean {
  const { host = "", origin } = headers;
  if (headers["sec-fetch-site"] === "cross-site" || headers["sec-fetch-site"] === "same-site") return true;
  if (origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host)) return true;
  const name = host
    .replace(/:\d+$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .toLowerCase();
  return isIP(name) === 0 && name !== "localhost";
}
