import type { HTTPMatchRequest, HTTPRoute, StringMatch } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import type { Place } from "../../../validation/place.js";

/**
 * Warns of routes and matches behind one that takes all their requests, where it is certain and Istio's own validation
 * finds none: behind a path of every request, and exact paths behind a prefix.
 */
export function warnOfShadowedRoutes(routes: readonly HTTPRoute[], place: Place): void {
  /** The first routes that take every request to a path prefix. */
  const prefixes = new Map<string, number>();
  const lengths = new Set<number>();
  for (const [r, { match }] of routes.entries()) {
    const everything = prefixes.get("/");
    if (everything !== undefined) {
      warnOfRoute(match, everything, place.at(r));
      continue;
    }
    for (const [m, { uri, ignoreUriCase }] of match.entries()) {
      if (uri?.matchType.case !== "exact" || ignoreUriCase) continue;
      const path = uri.matchType.value;
      const prefix = [...lengths].map((length) => path.slice(0, length)).find((start) => prefixes.has(start));
      if (prefix !== undefined)
        place
          .at(r, "match", m)
          .warning(
            `has no effect: the prefix ${prefix} of #${prefixes.get(prefix)} takes its requests before it`,
            "ineffective-match",
          );
    }
    for (const own of match) {
      const prefix = hasNoOtherCondition(own) ? pathPrefix(own) : undefined;
      if (prefix === undefined || prefixes.has(prefix)) continue;
      prefixes.set(prefix, r);
      lengths.add(prefix.length);
    }
  }
}

function warnOfRoute(match: readonly HTTPMatchRequest[], route: number, place: Place): void {
  // Matches by a longer prefix are reported as matches.
  if (match.length > 0 && match.every((each) => isPlainPrefix(each))) return;
  place.warning(`is never reached: #${route} takes every request before it`, "unreachable-rule");
}

function isPlainPrefix(match: HTTPMatchRequest): boolean {
  return match.uri?.matchType.case === "prefix" && hasNoOtherCondition(match);
}

/** Returns the prefix of a match; `/` for a pattern of every path, or for no path at all. */
function pathPrefix({ uri }: HTTPMatchRequest): string | undefined {
  const { case: kind, value } = uri?.matchType ?? { case: undefined };
  if (kind === undefined || (kind === "regex" && everyPath.test(value))) return "/";
  return kind === "prefix" && value !== "" ? value : undefined;
}

const everyPath = /^\^?(\/?\.\*)\$?$/;

/** Reports whether a match has no condition besides the path. */
export function hasNoOtherCondition(match: HTTPMatchRequest): boolean {
  const { scheme, method, authority, port, gateways, sourceNamespace } = match;
  const texts: readonly (StringMatch | undefined)[] = [scheme, method, authority];
  const maps = [match.headers, match.withoutHeaders, match.queryParams, match.sourceLabels];
  return (
    texts.every((text) => text === undefined) &&
    port === 0 &&
    gateways.length === 0 &&
    sourceNamespace === "" &&
    maps.every((map) => Object.keys(map).length === 0)
  );
}
