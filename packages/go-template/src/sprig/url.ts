import { escapeBytes } from "../builtins/escape.js";
import { quote } from "../values/quote.js";

/** Parts of a URL, decoded as Go's `net/url` decodes them. */
export interface Url {
  readonly scheme: string;
  readonly opaque: string;
  readonly userinfo: string;
  readonly host: string;
  readonly hostname: string;
  readonly path: string;
  readonly query: string;
  readonly fragment: string;
}

/**
 * Parses a URL.
 *
 * @throws Error with Go's message
 */
export function parseUrl(text: string): Url {
  if (/[\0-\x1f\x7f]/.test(text)) throw new Error("net/url: invalid control character in URL");
  const hash = text.indexOf("#");
  const fragment = hash < 0 ? "" : unescape(text.slice(hash + 1), "");
  const before = hash < 0 ? text : text.slice(0, hash);
  const empty = { scheme: "", opaque: "", userinfo: "", host: "", hostname: "", path: "", query: "", fragment };
  if (before === "*") return { ...empty, path: "*" };
  const { scheme, rest: withQuery } = schemeOf(before);
  const mark = withQuery.indexOf("?");
  const query = mark < 0 ? "" : withQuery.slice(mark + 1);
  const rest = mark < 0 ? withQuery : withQuery.slice(0, mark);
  if (!rest.startsWith("/")) {
    if (scheme !== "") return { ...empty, scheme, query, opaque: rest };
    if (rest.split("/")[0]?.includes(":") === true) throw new Error("first path segment in URL cannot contain colon");
  }
  const hasAuthority = rest.startsWith("//") && (scheme !== "" || !rest.startsWith("///"));
  if (!hasAuthority) return { ...empty, scheme, query, path: unescape(rest, "") };
  const slash = rest.indexOf("/", 2);
  const end = slash < 0 ? rest.length : slash;
  const authority = authorityOf(rest.slice(2, end));
  return { ...empty, scheme, query, ...authority, path: unescape(rest.slice(end), "") };
}

function schemeOf(text: string): { readonly scheme: string; readonly rest: string } {
  const match = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text);
  if (match?.[1] !== undefined) return { scheme: match[1].toLowerCase(), rest: text.slice(match[0].length) };
  if (text.startsWith(":")) throw new Error("missing protocol scheme");
  return { scheme: "", rest: text };
}

function authorityOf(authority: string): Pick<Url, "userinfo" | "host" | "hostname"> {
  const at = authority.lastIndexOf("@");
  const host = hostOf(authority.slice(at + 1));
  const hostname = /^\[(.*)\](?::\d*)?$/.exec(host)?.[1] ?? host.replace(/:\d*$/, "");
  return { host, hostname, userinfo: at < 0 ? "" : userinfoOf(authority.slice(0, at)) };
}

function hostOf(text: string): string {
  if (text.startsWith("[")) {
    const end = text.lastIndexOf("]");
    if (end < 0) throw new Error("missing ']' in host");
    checkPort(text.slice(end + 1));
    const zone = text.slice(0, end).indexOf("%25");
    return zone < 0 ? unescape(text, "host") : unescape(text.slice(0, zone), "host") + unescape(text.slice(zone), "");
  }
  const colon = text.lastIndexOf(":");
  if (colon >= 0) checkPort(text.slice(colon));
  return unescape(text, "host");
}

function checkPort(text: string): void {
  if (!/^(?::\d*)?$/.test(text)) throw new Error(`invalid port ${quote(text)} after host`);
}

function userinfoOf(text: string): string {
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(text)) throw new Error("net/url: invalid userinfo");
  const colon = text.indexOf(":");
  if (colon < 0) return escapeUser(unescape(text, ""));
  return `${escapeUser(unescape(text.slice(0, colon), ""))}:${escapeUser(unescape(text.slice(colon + 1), ""))}`;
}

const escapeUser = (text: string): string => escapeBytes(text, /[A-Za-z0-9\-._~$&+,;=]/);

/** Decodes `%` escapes. In a host only those of bytes beyond ASCII are valid. */
function unescape(text: string, mode: "host" | ""): string {
  for (const [whole, digits] of text.matchAll(/%([0-9A-Fa-f]{2})?.{0,2}/gs)) {
    if (digits === undefined) throw new Error(`invalid URL escape ${quote(whole.slice(0, 3))}`);
    if (mode === "host" && Number.parseInt(digits, 16) < 0x80 && digits !== "25")
      throw new Error(`invalid URL escape ${quote(`%${digits}`)}`);
  }
  const invalid = mode === "host" ? /[ "<>\\^`{|}]/.exec(text) : null;
  if (invalid !== null) throw new Error(`invalid character ${quote(invalid[0])} in host name`);
  if (!text.includes("%")) return text;
  const parts = text
    .split(/(%[0-9A-Fa-f]{2})/)
    .map((part, i) => (i % 2 === 1 ? Buffer.from(part.slice(1), "hex") : Buffer.from(part)));
  return Buffer.concat(parts).toString();
}

/** Returns a URL as text. */
export function formatUrl(url: Omit<Url, "hostname">): string {
  const scheme = url.scheme === "" ? "" : `${url.scheme}:`;
  const query = url.query === "" ? "" : `?${url.query}`;
  const fragment = url.fragment === "" ? "" : `#${escapeFragment(url.fragment)}`;
  if (url.opaque !== "") return scheme + url.opaque + query + fragment;
  const hasAuthority = url.host !== "" || url.userinfo !== "" || (url.scheme !== "" && url.path.startsWith("//"));
  const user = url.userinfo === "" ? "" : `${url.userinfo}@`;
  const authority = hasAuthority ? `//${user}${escapeBytes(url.host, /[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"]/)}` : "";
  const path = escapeBytes(url.path, /[A-Za-z0-9\-_.~$&+,/:;=@]/);
  const slash = path !== "" && !path.startsWith("/") && url.host !== "" ? "/" : "";
  const needsDot = scheme + authority + slash === "" && path.split("/")[0]?.includes(":") === true;
  return scheme + authority + slash + (needsDot ? "./" : "") + path + query + fragment;
}

const escapeFragment = (text: string): string => escapeBytes(text, /[A-Za-z0-9\-_.~$&+,/:;=?@!()*]/);
