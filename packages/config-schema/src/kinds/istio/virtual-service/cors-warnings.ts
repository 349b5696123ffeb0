import type { CorsPolicy, StringMatch } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import type { Place } from "../../../validation/place.js";
import { maxRegexLength } from "../../../validation/regex/regex.js";
import { wholeMatch } from "../../../validation/regex/whole-match.js";

function warn(place: Place, message: string): void {
  place.warning(message, "cors");
}

/**
 * Warns of policies that allow no website, or every one with credentials. Envoy answers with the origin of the request,
 * never with `*`, and takes a single `*` of methods and headers for those that the request names.
 */
export function warnOfCors(policy: CorsPolicy, place: Place): void {
  const { allowOrigins, allowOrigin, allowCredentials } = policy;
  const credentials = allowCredentials === true;
  if (allowOrigins.length === 0 && allowOrigin.length === 0)
    warn(place, "has no effect: without allowOrigins no website is allowed, expected at least one");
  for (const [i, origin] of allowOrigins.entries()) {
    const { case: kind, value = "" } = origin.matchType;
    const at = place.at("allowOrigins", i);
    if (credentials && allowsEverything(origin))
      warn(
        at,
        "allows every website to act with the credentials of its visitors, because allowCredentials is true: proxies answer with the origin of the request, not with *; expected the trusted origins",
      );
    else if (kind !== undefined && value.length <= maxRegexLength) warnOfOrigin(kind, value, at.at(kind));
  }
  for (const field of ["allowMethods", "allowHeaders", "exposeHeaders"] as const)
    warnOfWildcard(policy[field], field, credentials, place.at(field));
}

function allowsEverything({ matchType: { case: kind, value = "" } }: StringMatch): boolean {
  return kind === "regex"
    ? /^\^?\.[*+]\$?$/.test(value)
    : kind === "prefix"
      ? /^(\*|https?:\/\/)$/.test(value)
      : value === "*";
}

const scheme = /^[a-z][a-z0-9+.-]*:\/\//;

/** Warns of an origin that no browser sends: it is a scheme, a host and perhaps a port, all in lower case. */
function warnOfOrigin(kind: "exact" | "prefix" | "regex", value: string, place: Place): void {
  const expected = kind === "regex" ? undefined : unmatchableOrigin(kind, value);
  if (expected !== undefined)
    return warn(place, `is ${JSON.stringify(value)}, which no browser sends as Origin, expected ${expected}`);
  if (kind === "regex") {
    const text = JSON.stringify(value);
    if (wholeMatch(value).firstCharacter !== undefined && !/:(\\?\/){2}/.test(value))
      warn(
        place,
        `is ${text}, which no browser sends as Origin, expected a scheme: ${JSON.stringify(`https://${value}`)}`,
      );
    else if (/[^\\]\.[a-z]{2,}\$?$/.test(value) && !/[^\\]\.[*+]\S*$/.test(value.slice(-4)))
      warn(
        place,
        `is ${text}, in which . stands for any character, so that other domains are allowed, too, expected \\.`,
      );
    return;
  }
  if (kind === "prefix" && /^https?:\/\/[^/:]+\.[a-z]+$/.test(value))
    warn(
      place,
      `is ${JSON.stringify(value)}, which also allows ${value}.example.net, expected exact, or a regex such as ${JSON.stringify(`${value.replaceAll(".", "\\.")}(:[0-9]+)?`)}`,
    );
}

function unmatchableOrigin(kind: "exact" | "prefix", value: string): string | undefined {
  if (value === "*" || value === "null") return undefined;
  if (value !== value.toLowerCase()) return JSON.stringify(value.toLowerCase());
  if (!scheme.test(value)) return kind === "exact" ? JSON.stringify(`https://${value}`) : "a scheme, such as https://";
  const [, host = ""] = value.split("://");
  if (host.includes("*"))
    return `a regex such as ${JSON.stringify(value.replaceAll(".", "\\.").replace("*", "[^.]+"))}`;
  if (host.includes("/")) return JSON.stringify(value.slice(0, value.indexOf("/", value.indexOf("://") + 3)));
  const port = value.startsWith("https:") ? ":443" : ":80";
  return kind === "exact" && value.endsWith(port)
    ? `${JSON.stringify(value.slice(0, -port.length))}: browsers omit the default port`
    : undefined;
}

/** Warns of a `*` that browsers take literally: among others, or for requests with credentials. */
function warnOfWildcard(values: readonly string[], field: string, credentials: boolean, place: Place): void {
  if (!credentials || !values.includes("*")) return;
  if (field !== "exposeHeaders" && values.length === 1) return;
  const others = field === "exposeHeaders" ? "the names" : "only *, or the names";
  warn(
    place,
    `has *, which browsers take literally because allowCredentials is true, so that nothing more is allowed, expected ${others}`,
  );
}
