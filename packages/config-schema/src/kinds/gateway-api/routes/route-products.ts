import type { FieldPath } from "../../../decoding/report.js";
import type { Place } from "../../../validation/place.js";
import { checkPatterns, checkProduct } from "../../../validation/products.js";
import { regexFault } from "../../../validation/regex/regex.js";
import type { RouteFilter } from "./filters.js";
import type { GrpcRouteMatch, HttpRouteMatch, ValueMatch } from "./route-matches.js";

interface Routes {
  readonly hostnames: readonly string[];
  readonly rules: readonly Rule[];
}

/** A rule of an HTTPRoute or GRPCRoute. */
interface Rule {
  readonly matches: readonly (HttpRouteMatch | GrpcRouteMatch)[];
  readonly filters: readonly RouteFilter[];
}

/**
 * Bounds hostnames × matches of a route, as each host has each match of each rule with its actions. Checks the
 * patterns of matches, which must be in RE2's syntax.
 */
export function checkRouteProducts(spec: Routes, place: Place): void {
  const hosts = Math.max(1, spec.hostnames.length);
  const { matches, bytes } = repeatedRules(spec.rules);
  const at = place.at("rules");
  checkProduct(
    "routes",
    "routes",
    [
      ["hostnames", hosts],
      ["matches of rules", matches],
    ],
    at,
  );
  checkProduct(
    "bytes",
    "bytes",
    [
      ["hostnames", hosts],
      ["bytes of rules × matches", bytes],
    ],
    at,
  );
  const patterns = patternsOfMatches(spec.rules);
  const texts = patterns.map(({ text }) => text);
  if (!checkPatterns(texts, hosts, at) || !checkPatterns(repeatedOrigins(spec.rules), hosts, at)) return;
  for (const { path, text } of patterns) {
    const fault = text === "" && path.at(-1) === "value" ? "is empty" : regexFault(text);
    if (fault !== undefined)
      at.at(...path).error(`is ${JSON.stringify(text)}, expected a regular expression, but it ${fault}`);
  }
}

/** The routes of one host. */
export interface RepeatedRules {
  readonly matches: number;
  /** Bytes of actions, for each match that repeats them, and of matches. */
  readonly bytes: number;
}

/** Returns what the rules of a route multiply to for one host. */
export function repeatedRules(rules: Routes["rules"]): RepeatedRules {
  let [matches, bytes] = [0, 0];
  for (const { matches: own, ...actions } of rules) {
    const count = Math.max(1, own.length);
    matches += count;
    bytes += count * sizeOf(actions) + sizeOf(own);
  }
  return { matches, bytes };
}

const sizeOf = (value: object): number => Buffer.byteLength(JSON.stringify(value));

/** A regular expression of a match, with its path from the rules. */
interface Pattern {
  readonly path: FieldPath;
  readonly text: string;
}

function patternsOfMatches(rules: Routes["rules"]): readonly Pattern[] {
  return rules.flatMap(({ matches }, i) =>
    matches.flatMap((match, j) =>
      patternsIn(match).map(({ path, text }) => ({ path: [i, "matches", j, ...path], text })),
    ),
  );
}

function patternsIn(match: HttpRouteMatch | GrpcRouteMatch): readonly Pattern[] {
  const path = "path" in match ? match.path : undefined;
  const method = "path" in match ? undefined : match.method;
  return [
    ...(path?.type === "RegularExpression" ? [{ path: ["path", "value"], text: path.value }] : []),
    ...(method?.type === "RegularExpression"
      ? (["service", "method"] as const).flatMap((name) => {
          const text = method[name];
          return text === undefined ? [] : [{ path: ["method", name], text }];
        })
      : []),
    ...patternsOfValues("headers", match.headers),
    ...("queryParams" in match ? patternsOfValues("queryParams", match.queryParams) : []),
  ];
}

function patternsOfValues(field: string, values: readonly ValueMatch[]): readonly Pattern[] {
  return values.flatMap(({ type, value }, i) =>
    type === "RegularExpression" ? [{ path: [field, i, "value"], text: value }] : [],
  );
}

/** Iterates over origins with a wildcard, which become patterns of about their length, for each match again. */
function* repeatedOrigins(rules: Routes["rules"]): Generator<string> {
  for (const { matches, filters } of rules) {
    const origins = filters.flatMap((filter) =>
      filter.type === "CORS" ? filter.cors.allowOrigins.filter((origin) => origin.includes("*")) : [],
    );
    for (let copies = Math.max(1, matches.length); copies > 0 && origins.length > 0; copies--) yield* origins;
  }
}
