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
  if (routes.reduce((sum, { match }) => sum + Math.max(1, match.length), 0) < 2) return;
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
  const before = new EarlierPrefixes();
  for (const later of prefixes) {
    const earlier = before.covering(later);
    if (earlier !== undefined)
      later.place.warning(
        `has no effect: the prefix ${earlier.prefix} of #${earlier.route} takes ${later.prefix} before it`,
        "ineffective-match",
      );
    before.add(later);
  }
}

/**
 * Matches of earlier routes by prefix, and by the ports and names that a match must share to be covered: a
 * VirtualService may have thousands of routes, too many to compare each with all before it.
 */
class EarlierPrefixes {
  readonly #byPrefix = new Map<string, Map<string, (PrefixMatch & { readonly order: number })[]>>();
  readonly #lengths = new Set<number>();
  #count = 0;

  /** Returns the first match with a shorter prefix that covers another. */
  covering({ prefix, match }: PrefixMatch): PrefixMatch | undefined {
    const shared = sharedNames(match);
    let first: (PrefixMatch & { readonly order: number }) | undefined;
    for (const length of this.#lengths) {
      if (length >= prefix.length) continue;
      const found = this.#byPrefix
        .get(prefix.slice(0, length))
        ?.get(shared)
        ?.find((earlier) => covers(earlier.match, match));
      if (found !== undefined && (first === undefined || found.order < first.order)) first = found;
    }
    return first;
  }

  add(added: PrefixMatch): void {
    const { prefix, match } = added;
    this.#lengths.add(prefix.length);
    let ofPrefix = this.#byPrefix.get(prefix);
    if (ofPrefix === undefined) this.#byPrefix.set(prefix, (ofPrefix = new Map()));
    const shared = sharedNames(match);
    const matches = ofPrefix.get(shared);
    const ordered = { ...added, order: this.#count++ };
    if (matches === undefined) ofPrefix.set(shared, [ordered]);
    else matches.push(ordered);
  }
}

/** Returns what must be equal for a match to cover another: see {@link covers}. */
function sharedNames({ port, headers, queryParams, withoutHeaders }: HTTPMatchRequest): string {
  return JSON.stringify([port, ...[headers, queryParams, withoutHeaders].map((texts) => Object.keys(texts).sort())]);
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
