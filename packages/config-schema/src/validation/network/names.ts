import { isIpAddress } from "./ip.js";
import type { Place } from "../place.js";

const label = /^[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?$/;
const wildcardLabel = /^(?:\*|(?:\*|\*-)?[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?)$/;
const qualifiedName = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

/**
 * Reports whether a string is a DNS label (RFC 1123): at most 63 letters, digits and inner hyphens. Upper case is
 * allowed, as in Istio.
 */
export function isDnsLabel(text: string): boolean {
  return text.length <= 63 && label.test(text);
}

/** Returns the fault of a fully qualified domain name; undefined if it is valid. A final dot is allowed. */
export function fqdnFault(name: string): string | undefined {
  return lengthFault(name) ?? labelsFault(name, name);
}

/** Returns the fault of a domain name whose first label may be `*`, or begin with `*` or `*-`. */
export function wildcardDomainFault(name: string): string | undefined {
  const tooLong = lengthFault(name);
  if (tooLong !== undefined) return tooLong;
  const dot = name.indexOf(".");
  const first = dot < 0 ? name : name.slice(0, dot);
  if (first.length > 63 || !wildcardLabel.test(first)) return badLabel(name, first);
  return dot < 0 ? undefined : labelsFault(name, name.slice(dot + 1));
}

export function checkFqdn(name: string, place: Place): void {
  const fault = fqdnFault(name);
  if (fault !== undefined) place.error(fault);
}

export function checkWildcardDomain(name: string, place: Place): void {
  const fault = wildcardDomainFault(name);
  if (fault !== undefined) place.error(fault);
}

/** Reports whether a host has a `*` that is neither alone nor the whole first label. */
export function hasPartialWildcard(host: string): boolean {
  return host.includes("*") && host.length !== 1 && !host.startsWith("*.");
}

/**
 * Checks a host of a Gateway's server: `host` or `namespace/host`, with a name that contains a dot, a wildcard or an IP
 * address as host.
 */
export function checkGatewayHost(host: string, place: Place): void {
  const slash = host.indexOf("/");
  if (slash >= 0) {
    const namespace = host.slice(0, slash);
    if (namespace === "" || slash === host.length - 1)
      place.error(`is ${JSON.stringify(host)}, expected namespace/host with neither part empty`);
    else if (namespace !== "*" && namespace !== "." && !isDnsLabel(namespace))
      place.error(`has the namespace ${JSON.stringify(namespace)}, expected *, . or the name of one`);
  }
  const name = host.slice(slash + 1);
  if (!isIpAddress(name)) checkScopedHost(name, place);
}

/** Checks a host of a Sidecar's egress: `namespace/host`; a `~` before the namespace excludes it. */
export function checkSidecarHost(host: string, place: Place): void {
  const slash = host.indexOf("/");
  if (slash < 0) {
    place.error(`is ${JSON.stringify(host)}, expected namespace/host`);
    return;
  }
  const namespace = host.slice(0, slash).replace(/^~/, "");
  if (slash === 0 || slash === host.length - 1)
    place.error(`is ${JSON.stringify(host)}, expected namespace/host with neither part empty`);
  if (namespace !== "" && namespace !== "*" && namespace !== "." && !isDnsLabel(namespace))
    place.error(`has the namespace ${JSON.stringify(namespace)}, expected *, . or the name of one`);
  checkScopedHost(host.slice(slash + 1), place);
}

/** Checks a port name: a DNS label. */
export function checkPortName(name: string, place: Place): void {
  if (!isDnsLabel(name))
    place.error(
      `${name === "" ? "is missing" : `is ${JSON.stringify(name)}`}, expected at most 63 letters, digits and inner hyphens`,
    );
}

/** Checks labels as Kubernetes does, except that the key's prefix may be a single label. */
export function checkLabels(labels: Readonly<Record<string, string>>, place: Place): void {
  for (const [key, value] of Object.entries(labels)) {
    const slash = key.lastIndexOf("/");
    const name = key.slice(slash + 1);
    const prefix = slash < 0 ? undefined : key.slice(0, slash);
    if (!qualifiedName.test(name) || name.length > 63)
      place
        .at(key)
        .error(`has an invalid key, expected [prefix/]name with at most 63 letters, digits, -, _ and . in the name`);
    else if (
      prefix !== undefined &&
      (prefix.length > 253 || !prefix.split(".").every((p) => label.test(p) && p.length <= 63))
    )
      place.at(key).error("has an invalid prefix, expected a domain name");
    if (value !== "" && (value.length > 63 || !qualifiedName.test(value)))
      place.at(key).error(`is ${JSON.stringify(value)}, expected at most 63 letters, digits, -, _ and .`);
  }
}

function checkScopedHost(name: string, place: Place): void {
  if (name !== "*" && !name.includes("."))
    place.error(`is ${JSON.stringify(name)}, expected a full name with a dot: short names are not allowed here`);
  checkWildcardDomain(name, place);
  if (hasPartialWildcard(name)) place.error(`is ${JSON.stringify(name)}, expected * to be the whole first label`);
}

function lengthFault(name: string): string | undefined {
  if (name === "") return "is missing, expected a domain name";
  return name.length > 255 ? `has ${name.length} characters, expected at most 255` : undefined;
}

function labelsFault(name: string, part: string): string | undefined {
  const labels = part.split(".");
  const last = labels.at(-1) ?? "";
  if (/^[+-]?\d+$/.test(last))
    return `is ${JSON.stringify(name)}, expected a domain name, whose last label is not a number`;
  const bad = labels.find((l, i) => !(l === "" && i === labels.length - 1) && !isDnsLabel(l));
  return bad === undefined ? undefined : badLabel(name, bad);
}

function badLabel(name: string, label: string): string {
  return `is ${JSON.stringify(name)}, expected a domain name: ${label === "" ? "a label is empty" : `the label ${JSON.stringify(label)} is not of letters, digits and inner hyphens`}`;
}
