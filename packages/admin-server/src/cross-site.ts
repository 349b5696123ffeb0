import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { hostname } from "node:os";
import { isLoopback } from "@istiod/peer-address";

/** The parts of a request that tell where it comes from. */
export interface RequestOrigin {
  readonly headers: IncomingMessage["headers"];
  readonly socket: Pick<IncomingMessage["socket"], "remoteAddress">;
}

/**
 * Returns the reason for rejecting a request that a browser sends on behalf of another site; undefined if there is
 * none.
 *
 * Callers on this machine are trusted by their address, and a browser on this machine runs code of strangers. Such code
 * can send requests to loopback addresses (`Origin` and `Sec-Fetch-Site` tell), and can give a name of its own to a
 * loopback address to read the answers (DNS rebinding; `Host` tells). Links to pages are allowed.
 *
 * @param allowedHosts names that callers on this machine may use in addition to localhost, the name of this machine and
 *   IP addresses
 */
export function crossSiteReason(request: RequestOrigin, allowedHosts: readonly string[] = []): string | undefined {
  const { headers } = request;
  const { host, origin } = headers;
  if (isLoopback(request.socket.remoteAddress) && !isAllowedHost(host, allowedHosts))
    return `host ${quoted(host)} is not allowed: use localhost or an IP address`;
  if (origin !== undefined && origin !== `http://${host ?? ""}` && origin !== `https://${host ?? ""}`)
    return `requests from origin ${quoted(origin)} are not allowed`;
  const site = headers["sec-fetch-site"];
  if ((site === "cross-site" || site === "same-site") && headers["sec-fetch-mode"] !== "navigate")
    return "requests from other sites are not allowed";
  return undefined;
}

/**
 * Reports whether a request may change state. `POST` may, unless another site sends it (`crossSiteReason`). Other
 * methods may if a program or a person on this machine sends them: for pages, browsers send `Sec-Fetch-Site` other than
 * `none`, or at least a `Referer` or an `Origin`.
 */
export function mayChangeState(request: RequestOrigin & { readonly method?: string | undefined }): boolean {
  const { method, headers, socket } = request;
  if (method === "POST") return true;
  const { origin, referer, "sec-fetch-site": site = "none" } = headers;
  const isPage = site !== "none" || origin !== undefined || referer !== undefined;
  return !isPage && isLoopback(socket.remoteAddress);
}

/** A request without a host is not one of a browser. */
function isAllowedHost(host: string | undefined, allowedHosts: readonly string[]): boolean {
  if (host === undefined || host === "") return true;
  const url = `http://${host}`;
  if (!URL.canParse(url)) return false;
  const name = new URL(url).hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (isIP(name) !== 0 || name === "localhost" || name.endsWith(".localhost")) return true;
  return [hostname(), ...allowedHosts].some((allowed) => allowed.toLowerCase() === name);
}

const maxQuoted = 100;

function quoted(text: string | undefined): string {
  return JSON.stringify((text ?? "").slice(0, maxQuoted));
}
