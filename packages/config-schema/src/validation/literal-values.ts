import type { Place } from "./place.js";

/** Use of a path by proxies: the words after "which is", and the field for a host. */
export interface PathUse {
  readonly sent: string;
  readonly hostField: "authority" | "hostname";
}

/** Warns of text in place of a path that does not begin with a slash. */
export function warnOfPath(value: string, use: PathUse, place: Place): void {
  const fault = literalPathFault(value, use);
  if (fault !== undefined) place.warning(fault, "literal");
}

/** Explains that text is not a path, as a predicate; undefined if it may be one. */
export function literalPathFault(value: string, { sent, hostField }: PathUse): string | undefined {
  if (value === "" || value.startsWith("/") || value.startsWith("%")) return undefined;
  const is = `is ${JSON.stringify(value)}, which is ${sent}`;
  const [, authority, path = ""] = /^[a-z][a-z0-9+.-]*:\/\/([^/]*)(.*)$/is.exec(value) ?? [];
  return authority === undefined
    ? `${is}, expected a path: ${JSON.stringify(`/${value}`)}`
    : `${is}, expected the path ${JSON.stringify(path === "" ? "/" : path)}, and the host in ${hostField}: ${JSON.stringify(hostField === "hostname" ? authority.replace(/:\d*$/, "") : authority)}`;
}

/** Warns of a URL, or a host with a path, in place of a host. */
export function warnOfAuthority(value: string, place: Place): void {
  const fault = literalHostFault(value);
  if (fault !== undefined) place.warning(fault, "literal");
}

/** Explains that text is not a host, as a predicate; undefined if it may be one. */
export function literalHostFault(value: string): string | undefined {
  if (!/[/\s]/.test(value)) return undefined;
  const [, host = ""] = /^(?:[a-z][a-z0-9+.-]*:\/\/)?([^/\s]*)/i.exec(value) ?? [];
  return `is ${JSON.stringify(value)}, which is sent as it is, expected a host${host === "" ? "" : `: ${JSON.stringify(host)}`}`;
}

/** Warns of the identity of a workload in a form that no certificate has. */
export function warnOfIdentity(name: string, place: Place): void {
  const is = `is ${JSON.stringify(name)}, which no certificate has`;
  if (/^[^/:*]+\/ns\/[^/]+\/sa\/[^/]+$/.test(name))
    place.warning(`${is}: identities have a scheme, expected ${JSON.stringify(`spiffe://${name}`)}`, "never-matches");
  else if (name.startsWith("spiffe://") && name.includes("*"))
    place.warning(`${is}: names are compared as a whole, expected each identity in full`, "never-matches");
}
