import { toJsonString, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import {
  HTTPMatchRequestSchema,
  type HTTPMatchRequest,
  type HTTPRoute,
  type StringMatch,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import type { Place } from "../../../validation/place.js";

/** Warns of TLS and TCP routes and matches that earlier ones cover. */
export function warnOfUnreachable<D extends DescMessage>(
  schema: D,
  routes: readonly { readonly match: readonly MessageShape<D>[] }[],
  place: Place,
): void {
  const seen = new Map<string, string>();
  let catchAll: number | undefined;
  for (const [r, { match }] of routes.entries()) {
    const at = place.at(r);
    if (match.length === 0) {
      if (catchAll !== undefined) at.warning(`is never reached: #${catchAll} matches everything`, "unreachable-rule");
      catchAll = r;
      continue;
    }
    let repeated = 0;
    for (const [m, own] of match.entries()) {
      if (catchAll !== undefined) {
        at.at("match", m).warning(`is never reached: #${catchAll} matches everything`, "unreachable-rule");
        continue;
      }
      const text = toJsonString(schema, "name" in own ? { ...own, name: "" } : own);
      const first = seen.get(text);
      if (first === undefined) seen.set(text, `#${r}`);
      else {
        repeated++;
        at.at("match", m).warning(`has no effect: it repeats a match of ${first}`, "ineffective-match");
      }
    }
    if (repeated === match.length)
      at.warning("is never reached: each of its matches is in an earlier route", "unreachable-rule");
  }
}

interface PrefixMatch {
  readonly place: Place;
  readonly route: number;
  readonly prefix: string;
  readonly match: HTTPMatchRequest;
}

/** Warns of HTTP routes and matches that earlier ones cover, including path prefixes behind a shorter prefix. */
export function warnOfUnreachableHttp(routes: readonly HTTPRoute[], place: Place): void {
  warnOfUnreachable(HTTPMatchRequestSchema, routes, place);
  const prefixes = routes.flatMap(({ match }, route) =>
    match.flatMap((m, i): PrefixMatch[] =>
      m.uri?.matchType.case === "prefix" && m.uri.matchType.value !== ""
        ? [{ place: place.at(route, "match", i), route, prefix: m.uri.matchType.value, match: m }]
        : [],
    ),
  );
  for (const [i, later] of prefixes.entries()) {
    const earlier = prefixes
      .slice(0, i)
      .find((p) => p.prefix !== later.prefix && later.prefix.startsWith(p.prefix) && covers(p.match, later.match));
    if (earlier !== undefined)
      later.place.warning(
        `has no effect: the prefix ${earlier.prefix} of #${earlier.route} takes ${later.prefix} before it`,
        "ineffective-match",
      );
  }
}

function covers(earlier: HTTPMatchRequest, later: HTTPMatchRequest): boolean {
  return (
    earlier.port === later.port &&
    textOf(earlier.method, "exact:GET").startsWith(textOf(later.method, "exact:GET")) &&
    textOf(earlier.authority).startsWith(textOf(later.authority)) &&
    coversAll(earlier.headers, later.headers) &&
    coversAll(earlier.queryParams, later.queryParams) &&
    coversAll(earlier.withoutHeaders, later.withoutHeaders)
  );
}

function coversAll(
  earlier: Readonly<Record<string, StringMatch>>,
  later: Readonly<Record<string, StringMatch>>,
): boolean {
  const names = Object.keys(earlier);
  return (
    names.length === Object.keys(later).length &&
    names.every((n) => n in later && textOf(earlier[n]).startsWith(textOf(later[n])))
  );
}

function textOf(match: StringMatch | undefined, absent = ""): string {
  const { case: kind, value } = match?.matchType ?? { case: undefined, value: undefined };
  return (kind === "exact" || kind === "prefix") && value !== "" ? `${kind}:${value}` : absent;
}
