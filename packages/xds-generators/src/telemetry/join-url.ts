import { posix } from "node:path";

/** Bytes of a URL's path that are not escaped. */
const plain = /[A-Za-z0-9\-._~$&+,/:;=@]/;
/** Text of a path that needs no escape. Source: RFC 3986, appendix A, and brackets. */
const escaped = /^(?:[A-Za-z0-9\-._~$&+,/:;=@!'()*[\]]|%[0-9A-Fa-f]{2})*$/;

/**
 * Returns a host with a path below it, as `url.JoinPath` of Go's net/url does: without empty and dot segments, and with
 * escapes where a URL needs them. Undefined if a percent sign of the path begins no escape.
 */
export function joinUrl(hostname: string, path: string): string | undefined {
  const joined = posix.join(`/${hostname}`, path).slice(1);
  const url = path.endsWith("/") && !joined.endsWith("/") ? `${joined}/` : joined;
  if (escaped.test(url)) return url;
  if (/%(?![0-9A-Fa-f]{2})/.test(url)) return undefined;
  return url.replace(/%([0-9A-Fa-f]{2})|[^]/gu, (text, hex: string | undefined) => {
    const bytes = hex === undefined ? [...Buffer.from(text)] : [Number.parseInt(hex, 16)];
    return bytes.map(escapeByte).join("");
  });
}

function escapeByte(byte: number): string {
  const character = String.fromCharCode(byte);
  return plain.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}
