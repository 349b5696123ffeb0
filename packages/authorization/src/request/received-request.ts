import { isIP } from "node:net";
import type { Destination } from "../destination.js";
import { parseHeader, type Question } from "../question.js";
import { normalizePath, type PathNormalization } from "./path-normalization.js";

/** A request as the proxy receives it. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly authority: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly normalization: PathNormalization;
  /** The path that policies see; undefined if the request is rejected. */
  readonly normalizedPath?: string;
  /** Reason why the proxy rejects the request before any policy. */
  readonly rejected?: string;
  /** Its status then. */
  readonly rejectedStatus?: number;
}

/** Returns the request that a question describes, with defaults as a client would send it. */
export function receivedRequest(
  { method = "GET", path = "/", host, headers = [] }: Question,
  { service, address, port }: Destination,
  normalization: PathNormalization,
): ReceivedRequest {
  const named = headers.map(parseHeader);
  const given = named.find(([name]) => name.toLowerCase() === "host")?.[1];
  const absolute = /^https?:\/\/(?:[^/?#@]*@)?([^/?#]*)(.*)$/is.exec(path);
  const fallback = service === undefined ? withPort(address, port) : withPort(service.hostname, service.port);
  const authority = absolute?.[1] ?? host ?? given ?? fallback;
  const target = absolute === null ? path : rootedTarget(absolute[2] ?? "");
  const normalized = rejectedTarget(method, path, absolute) ?? { status: 400, ...normalizePath(target, normalization) };
  return {
    method,
    path: target,
    authority,
    headers: named.filter(([name]) => name.toLowerCase() !== "host"),
    normalization,
    ...("path" in normalized
      ? { normalizedPath: normalized.path }
      : { rejected: normalized.rejected, rejectedStatus: normalized.status }),
  };
}

/** Characters of an absolute form's authority that Envoy accepts: a name or address, and a port. */
const validAuthority = /^([a-z0-9.-]+|\[[0-9a-f:.]+\])(:(?<port>\d{1,5}))?$/i;

/** Returns the reason why Envoy rejects the target of an HTTP/1.1 request before it looks at its path. */
function rejectedTarget(
  method: string,
  target: string,
  absolute: RegExpExecArray | null,
): { readonly rejected: string; readonly status: number } | undefined {
  if (method === "OPTIONS" && target === "*") return { rejected: "the target * has no path", status: 404 };
  if (!/^[\u0021-\u007e]*$/.test(target))
    return { rejected: "the target has characters that are not printable ASCII", status: 400 };
  if (absolute === null)
    return target.startsWith("/")
      ? undefined
      : { rejected: "the target neither begins with a slash nor is an http or https URL", status: 400 };
  const authority = validAuthority.exec(absolute[1] ?? "");
  if (authority === null || Number(authority.groups?.["port"] ?? 0) > 65_535)
    return { rejected: "the absolute form has no valid host and port", status: 400 };
  return absolute[2]?.startsWith("?") === true
    ? { rejected: "the absolute form has a query without a path", status: 404 }
    : undefined;
}

function rootedTarget(rest: string): string {
  return rest.startsWith("/") ? rest : `/${rest}`;
}

function withPort(host: string, port: number): string {
  const named = host.includes(":") ? `[${host}]` : host;
  return port === 80 ? named : `${named}:${port}`;
}

/**
 * Returns the client's address as the proxy determines it: a sidecar from the last entry of X-Forwarded-For, a gateway
 * from the entry before those of the trusted proxies, otherwise the direct peer.
 */
export function remoteAddress(
  request: ReceivedRequest | undefined,
  sourceIp: string,
  isSidecar: boolean,
  trustedHops: number,
): string {
  if (request === undefined || (!isSidecar && trustedHops === 0)) return sourceIp;
  const entries = request.headers
    .filter(([name]) => name.toLowerCase() === "x-forwarded-for")
    .flatMap(([, value]) => value.split(","))
    .map((entry) => entry.trim());
  const entry = entries.at(isSidecar ? -1 : -trustedHops);
  return entry !== undefined && isIP(entry) !== 0 ? entry : sourceIp;
}
