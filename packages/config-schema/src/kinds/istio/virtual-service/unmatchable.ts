import type { HTTPMatchRequest, StringMatch } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import type { Place } from "../../../validation/place.js";
import { maxRegexLength } from "../../../validation/regex/regex.js";
import { wholeMatch } from "../../../validation/regex/whole-match.js";

type Kind = "exact" | "prefix" | "regex";

/** Headers that clients fill with more than one value or word. */
const compositeHeaders = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "forwarded",
  "referer",
  "user-agent",
  "via",
  "x-forwarded-for",
]);

/** Warns of conditions that no request satisfies, or almost none: proxies compare whole, case-sensitive values. */
export function warnOfUnmatchable(match: HTTPMatchRequest, place: Place): void {
  given(match.uri, place.at("uri"), checkPath);
  given(match.method, place.at("method"), checkMethod);
  given(match.scheme, place.at("scheme"), checkScheme);
  for (const field of ["headers", "withoutHeaders"] as const)
    for (const [name, value] of Object.entries(match[field]))
      given(value, place.at(field, name), (kind, text, at) => checkHeader(name.toLowerCase(), kind, text, at));
  checkExcludedHeaders(match, place.at("withoutHeaders"));
  for (const name of Object.keys(match.queryParams)) {
    const end = name.search(/[=&#]/);
    if (end < 0) continue;
    const expected = end === 0 ? "a name" : JSON.stringify(name.slice(0, end));
    const message = `no query parameter has this name, because ${name[end]} ends it, expected ${expected}`;
    warn(place.at("queryParams", name), message);
  }
}

/** Warns of headers that are required and excluded with the same value. */
function checkExcludedHeaders({ headers, withoutHeaders }: HTTPMatchRequest, place: Place): void {
  const keyOf = (name: string, { matchType }: StringMatch): string =>
    JSON.stringify([name.toLowerCase(), matchType.case, matchType.value]);
  const required = new Set(Object.entries(headers).map(([name, value]) => keyOf(name, value)));
  for (const [name, value] of Object.entries(withoutHeaders))
    if (required.has(keyOf(name, value)))
      warn(place.at(name), "excludes what headers requires, so that the match never applies");
}

function given(
  match: StringMatch | undefined,
  place: Place,
  check: (kind: Kind, value: string, place: Place) => void,
): void {
  const { case: kind, value } = match?.matchType ?? { case: undefined };
  if (kind !== undefined && value !== "" && value.length <= maxRegexLength) check(kind, value, place.at(kind));
}

function warn(place: Place, message: string): void {
  place.warning(message, "never-matches");
}

function checkPath(kind: Kind, value: string, place: Place): void {
  const is = `is ${JSON.stringify(value)}`;
  if (kind === "regex") {
    const fault = pathPatternFault(value);
    return fault === undefined ? undefined : warn(place, fault);
  }
  if (!value.startsWith("/") && !(kind === "exact" && value === "*"))
    warn(place, `${is}, which no path matches: paths begin with /, expected ${JSON.stringify(`/${value}`)}`);
  else if (value.includes("?"))
    warn(place, `${is}, which no path matches: it is compared without the query, expected queryParams`);
  else if (/\s/.test(value)) warn(place, `${is}, which no path matches: expected %20 or + for a space`);
  else {
    const fault = literalStarFault(value);
    if (fault !== undefined) warn(place, fault);
  }
}

/** Explains that the `*` at the end of a path is no wildcard, as a predicate; undefined if there is none. */
export function literalStarFault(path: string): string | undefined {
  let end = path.length;
  while (path[end - 1] === "*") end--;
  return end < path.length && path[end - 1] === "/"
    ? `is ${JSON.stringify(path)}, whose * only matches an asterisk, expected prefix ${JSON.stringify(path.slice(0, end))}`
    : undefined;
}

/**
 * Explains why a pattern matches no path, as a predicate; undefined if it may match one, or is too long to be accepted.
 */
export function pathPatternFault(value: string): string | undefined {
  if (value === "" || value.length > maxRegexLength) return undefined;
  const { firstCharacter, requiredCharacters } = wholeMatch(value);
  const is = `is ${JSON.stringify(value)}`;
  if (firstCharacter !== undefined && firstCharacter !== "/")
    return `${is}, which matches no whole path: paths begin with /, expected .* or / before it`;
  if (requiredCharacters.has("?"))
    return `${is}, which no path matches: it is compared without the query, expected queryParams`;
  return oneSideFault(value, "path");
}

function checkMethod(kind: Kind, value: string, place: Place): void {
  if ((kind === "regex" ? /^[a-z|()]+$/ : /^[a-z]+$/).test(value))
    warn(
      place,
      `is ${JSON.stringify(value)}, which no method matches, expected ${JSON.stringify(value.toUpperCase())}`,
    );
}

function checkScheme(kind: Kind, value: string, place: Place): void {
  if (kind === "exact" && value !== "http" && value !== "https")
    warn(place, `is ${JSON.stringify(value)}, which no scheme matches, expected http or https`);
}

function checkHeader(name: string, kind: Kind, value: string, place: Place): void {
  if (kind === "exact" && value !== value.trim())
    return warn(place, `is ${JSON.stringify(value)}, which no header matches: proxies remove spaces around values`);
  if (name === "cookie") return checkCookie(kind, value, place);
  if (kind !== "regex") return;
  const { literal } = wholeMatch(value);
  if (literal !== undefined && compositeHeaders.has(name))
    warn(
      place,
      `is ${JSON.stringify(value)}, which only matches a ${name} that is nothing else: patterns match whole values, expected ${JSON.stringify(`.*${value}.*`)}`,
    );
  else {
    const fault = oneSideFault(value, "value");
    if (fault !== undefined) warn(place, fault);
  }
}

/** Explains that a pattern such as `^/api` does not look for a part. */
function oneSideFault(value: string, what: string): string | undefined {
  const { isAnchoredOnOneSide, firstCharacter, lastCharacter } = wholeMatch(value);
  const isClosed = value.startsWith("^") ? lastCharacter !== undefined : firstCharacter !== undefined;
  if (!isAnchoredOnOneSide || !isClosed) return undefined;
  const expected = value.startsWith("^") ? `${value}.*` : `.*${value}`;
  return `is ${JSON.stringify(value)}, which only matches a whole ${what}, not a part of it, expected ${JSON.stringify(expected)}`;
}

/** Warns of a cookie that is only found if the request has no other, or none before or after it. */
function checkCookie(kind: Kind, value: string, place: Place): void {
  const condition = cookieCondition(kind, value);
  if (condition === undefined) return;
  const found = kind === "regex" ? value.replace(/^\^|\$$/g, "").replace(/^(\.\*)|(\.\*)$/g, "") : quoted(value);
  warn(
    place,
    `is ${JSON.stringify(value)}, which only matches ${condition}: the whole header is compared, expected regex ${JSON.stringify(`^(.*;\\s*)?(${found})(;.*)?$`)}`,
  );
}

function cookieCondition(kind: Kind, value: string): string | undefined {
  const alone = "a request without other cookies";
  if (kind === "exact") return alone;
  if (kind === "prefix") return "a request whose first cookie it is";
  const { isBounded, firstCharacter, lastCharacter } = wholeMatch(value);
  if (isBounded || (firstCharacter !== undefined && lastCharacter !== undefined)) return alone;
  if (firstCharacter !== undefined) return "a request whose first cookie it is";
  return lastCharacter === undefined ? undefined : "a request whose last cookie it is";
}

function quoted(text: string): string {
  return text.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&");
}
