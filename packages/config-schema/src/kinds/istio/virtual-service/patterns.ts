import type { HTTPRoute, StringMatch } from "@istiod/istio-api/networking/v1alpha3/virtual_service";

/** Iterates over the regular expressions of routes, as often as proxies have them: those of a route for each match. */
export function* patternsOf(http: readonly HTTPRoute[]): Generator<string> {
  for (const { match, corsPolicy, rewrite } of http) {
    const shared = patternsIn(corsPolicy?.allowOrigins ?? []);
    if (rewrite?.uriRegexRewrite !== undefined) shared.push(rewrite.uriRegexRewrite.match);
    for (let copies = Math.max(1, match.length); copies > 0 && shared.length > 0; copies--) yield* shared;
    for (const { uri, scheme, method, authority, headers, withoutHeaders, queryParams } of match)
      yield* patternsIn([
        ...[uri, scheme, method, authority],
        ...[headers, withoutHeaders, queryParams].flatMap((matches) => Object.values(matches)),
      ]);
  }
}

function patternsIn(matches: readonly (StringMatch | undefined)[]): string[] {
  return matches.flatMap((match) => (match?.matchType.case === "regex" ? [match.matchType.value] : []));
}
