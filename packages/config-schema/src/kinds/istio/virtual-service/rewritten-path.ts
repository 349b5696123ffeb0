import type { HTTPMatchRequest, HTTPRedirect, HTTPRoute } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import type { Place } from "../../../validation/place.js";
import { RE2JS } from "re2js";
import { regexFault } from "../../../validation/regex/regex.js";
import { anchoredBeginning } from "../../../validation/regex/whole-match.js";
import { hasNoOtherCondition } from "./shadowed-routes.js";

/**
 * Warns of prefixes that are replaced so that the slash before the rest of the path is doubled or lost: only the
 * characters of the prefix are replaced.
 */
export function warnOfRewrittenPaths(routes: readonly HTTPRoute[], place: Place): void {
  for (const [i, route] of routes.entries()) {
    warnOfLoop(route, place.at(i, "redirect"));
    warnOfUnmatchedPattern(route, place.at(i, "rewrite", "uriRegexRewrite", "match"));
  }
  const prefixes = new Set(routes.flatMap(({ match }) => match.flatMap((each) => prefixOf(each) ?? [])));
  for (const [i, { match, rewrite, redirect }] of routes.entries()) {
    const replacements = [
      { text: rewrite?.uri ?? "", at: place.at(i, "rewrite", "uri") },
      { text: redirect?.prefixRewrite ?? "", at: place.at(i, "redirect", "prefixRewrite") },
    ];
    for (const { text, at } of replacements) {
      // Others are reported as no paths.
      if (!text.startsWith("/")) continue;
      const matched = match.length === 0 ? ["/"] : match.flatMap((each) => prefixOf(each) ?? []);
      for (const prefix of matched) if (warnOfReplacement(prefix, text, prefixes, at)) break;
    }
  }
}

/** Returns whether it warned. */
function warnOfReplacement(prefix: string, text: string, prefixes: ReadonlySet<string>, at: Place): boolean {
  const was = prefix.endsWith("/");
  const becomes = text.endsWith("/");
  if (was === becomes || prefix === "") return false;
  // The rest of the path begins with a slash only if no route for the prefix with a slash comes before.
  if (!was && prefixes.has(`${prefix}/`)) return false;
  const rest = was ? "x" : "/x";
  const expected = was ? `${text}/` : text === "/" ? `also a match of prefix ${prefix}/ before` : text.slice(0, -1);
  at.warning(
    `is ${JSON.stringify(text)}, which makes ${text}${rest} of ${prefix}${rest}: only the prefix is replaced, expected ${was || text !== "/" ? JSON.stringify(expected) : expected}`,
    "unexpected-path",
  );
  return true;
}

function prefixOf({ uri }: HTTPMatchRequest): string | undefined {
  return uri?.matchType.case === "prefix" ? uri.matchType.value : undefined;
}

/** Warns of a redirect to a path that the same route redirects again. */
function warnOfLoop({ match, redirect }: HTTPRoute, place: Place): void {
  if (redirect === undefined || redirect.authority !== "" || redirect.scheme !== "") return;
  if (redirect.redirectPort.case !== undefined) return;
  const again = match.length === 0 ? redirect.uri : match.map((each) => pathAgain(each, redirect)).find(Boolean);
  // Others are reported as no paths.
  if (again?.startsWith("/") !== true) return;
  place
    .at(redirect.uri === "" ? "prefixRewrite" : "uri")
    .warning(
      `leads to ${again}, which the route redirects again, without an end, expected a path that another route matches`,
      "unexpected-path",
    );
}

/** Returns the path of the redirect if a match without other conditions matches it, too. */
function pathAgain(match: HTTPMatchRequest, { uri, prefixRewrite }: HTTPRedirect): string | undefined {
  if (!hasNoOtherCondition(match)) return undefined;
  const prefix = prefixOf(match);
  if (uri !== "") return isMatched(match, uri) ? uri : undefined;
  return prefix !== undefined && prefixRewrite.startsWith(prefix) && prefixRewrite !== "" ? prefixRewrite : undefined;
}

function isMatched({ uri }: HTTPMatchRequest, path: string): boolean {
  const { case: kind, value } = uri?.matchType ?? { case: undefined };
  return kind === undefined || (kind === "exact" ? path === value : kind === "prefix" && path.startsWith(value));
}

/** Warns of a pattern of a rewrite that matches a part of no path that the route matches. */
function warnOfUnmatchedPattern({ match, rewrite }: HTTPRoute, place: Place): void {
  const pattern = rewrite?.uriRegexRewrite?.match ?? "";
  if (pattern === "" || match.length === 0 || regexFault(pattern) !== undefined) return;
  const compiled = RE2JS.compile(pattern);
  const beginning = anchoredBeginning(pattern);
  const isNever = ({ uri, ignoreUriCase }: HTTPMatchRequest): boolean => {
    const { case: kind, value = "" } = uri?.matchType ?? { case: undefined };
    if (ignoreUriCase) return false;
    if (kind === "exact") return !compiled.matcher(value).find();
    return kind === "prefix" && beginning !== undefined && !beginning.startsWith(value) && !value.startsWith(beginning);
  };
  if (!match.every(isNever)) return;
  const paths = match.flatMap(({ uri }) => (uri === undefined ? [] : JSON.stringify(uri.matchType.value)));
  place.warning(
    `is ${JSON.stringify(pattern)}, which no path of the route has, so that none is rewritten: the route matches ${uniqueNames(paths)}`,
    "no-effect",
  );
}

/** Lists names without repetitions, the first three if there are more. */
function uniqueNames(names: readonly string[]): string {
  const unique = [...new Set(names)];
  return unique.length <= 3 ? unique.join(", ") : `${unique.slice(0, 3).join(", ")} and ${unique.length - 3} more`;
}
