import { isCidr, isIpAddress } from "./ip.js";
import { fqdnFault } from "./names.js";
import type { Place } from "../place.js";

export function checkIpAddress(text: string, place: Place): void {
  if (!isIpAddress(text)) place.error(`is ${JSON.stringify(text)}, expected an IP address`);
}

/** Checks an address or CIDR range. */
export function checkSubnet(text: string, place: Place): void {
  if (text.includes("/") ? !isCidr(text) : !isIpAddress(text))
    place.error(`is ${JSON.stringify(text)}, expected an IP address or a range such as 10.0.0.0/8`);
}

export function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65535;
}

export function checkPort(port: number, place: Place): void {
  if (!isPort(port)) place.error(`is ${port === 0 ? "0 or missing" : port}, expected a port from 1 to 65535`);
}

/** Maximum length of the path of a Unix domain socket in bytes: Linux's `sun_path` without its final NUL. */
const maxSocketPath = 107;

/**
 * Checks the path of a Unix domain socket, the part after `unix://`: an absolute path that is not a directory, or `@`
 * and a name.
 */
export function checkUnixSocket(path: string, place: Place): void {
  const size = Buffer.byteLength(path);
  if (size > maxSocketPath)
    place.error(`has a path of ${size} bytes, expected at most ${maxSocketPath}, which a Unix socket can have`);
  if (path.includes("\0")) place.error("has NUL in its path, expected the path of a file");
  if (path.startsWith("@")) return;
  if (!path.startsWith("/") || path.endsWith("/"))
    place.error(
      `is ${JSON.stringify(`unix://${path}`)}, expected unix:// with the absolute path of a file, or with @name`,
    );
}

/** Splits `host:port` or `[IPv6]:port`; returns undefined for other strings. */
export function splitHostPort(text: string): { readonly host: string; readonly port: string } | undefined {
  const match = /^(?:\[([^\][]*)\]|([^:\][]*)):([^:\][]*)$/.exec(text);
  return match === null ? undefined : { host: match[1] ?? match[2] ?? "", port: match[3] ?? "" };
}

/** Checks a server address: `host:port`, with a domain name or an IP address as host. */
export function checkServerAddress(address: string, place: Place): void {
  const parts = splitHostPort(address);
  const sound =
    parts !== undefined &&
    /^\d+$/.test(parts.port) &&
    isPort(Number(parts.port)) &&
    (isIpAddress(parts.host) || fqdnFault(parts.host) === undefined);
  if (!sound) place.error(`is ${JSON.stringify(address)}, expected host:port`);
}
