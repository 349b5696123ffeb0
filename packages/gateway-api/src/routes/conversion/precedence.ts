import type { HTTPMatchRequest, HTTPRoute } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { shareHeader } from "./matches.js";

/**
 * Returns routes in the order of precedence of the Gateway API: exact paths, prefixes, then patterns, each from the
 * longest to the shortest; then by a method, by the number of headers, and by that of query parameters. Among equals
 * the order is kept. Source: `sortHTTPRoutes`.
 */
export function inPrecedence(routes: readonly HTTPRoute[]): readonly HTTPRoute[] {
  return routes
    .map((route) => ({ route, ranks: ranksOf(route) }))
    .sort((a, b) => compareRanks(a.ranks, b.ranks))
    .map(({ route }) => route);
}

const pathRanks = { exact: 3, prefix: 2, regex: 1 } as const;

/** Ranks of routes, which are immutable. */
const known = new WeakMap<HTTPRoute, Ranks>();

/** Numbers of which the greater one of the first that differ takes precedence. */
type Ranks = readonly number[];

function ranksOf(route: HTTPRoute): Ranks {
  let ranks = known.get(route);
  if (ranks === undefined) known.set(route, (ranks = ranksOfMatch(route.match[0])));
  return ranks;
}

function ranksOfMatch(match: HTTPMatchRequest | undefined): Ranks {
  if (match === undefined) return [-2];
  const { case: kind, value = "" } = match.uri?.matchType ?? {};
  return [
    kind === undefined ? -1 : pathRanks[kind],
    Buffer.byteLength(value),
    match.method === undefined ? 0 : 1,
    Object.keys(match.headers).filter((name) => name !== shareHeader).length,
    Object.keys(match.queryParams).length,
  ];
}

function compareRanks(a: Ranks, b: Ranks): number {
  for (let i = 0; i < a.length; i++) {
    const difference = (b[i] ?? 0) - (a[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
