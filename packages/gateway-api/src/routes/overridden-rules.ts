import { grpcRoutes, httpRoutes } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { byAge, httpParts } from "./http-parts.js";
import type { RouteReference } from "./route.js";
import { routesOfVirtualService } from "./routes-by-target.js";

/** A rule of a route that gets no request, because other routes have its matches for the same hosts. */
export interface OverriddenRule {
  /** Index of the rule. */
  readonly rule: number;
  /** The routes that take its requests: those that come first by age, namespace and name. */
  readonly by: readonly RouteReference[];
}

/** The rules of an HTTPRoute or GRPCRoute of which every match is also one of a route that comes first, everywhere. */
export const overriddenRules = query(
  "gatewayApiOverriddenRules",
  (q, route: RouteReference): readonly OverriddenRule[] => {
    const parts = httpParts(q, route);
    if (parts.length === 0) return [];
    const owners = parts.map(({ virtualService }) => q.call(ownersOfMatches, { virtualService, kind: route.kind }));
    return q.call(matchesOfRules, route).flatMap((matches, rule): readonly OverriddenRule[] => {
      const keys = owners.flatMap((owner) => matches.map((match) => owner[match] ?? route.key));
      return keys.length === 0 || keys.includes(route.key)
        ? []
        : [{ rule, by: [...new Set(keys)].map((key) => ({ kind: route.kind, key })) }];
    });
  },
);

interface RoutesOfKind {
  readonly virtualService: string;
  readonly kind: RouteReference["kind"];
}

/**
 * The first route of a kind by each match that several routes have, at one host of one gateway. Matches of one route
 * are left out, so that an edit of them concerns no other route.
 */
const ownersOfMatches = query(
  "gatewayApiOwnersOfMatches",
  (q, { virtualService, kind }: RoutesOfKind): Readonly<Record<string, string>> => {
    const parts = q
      .call(routesOfVirtualService, virtualService)
      .filter((route) => route.kind === kind)
      .flatMap((route) => httpParts(q, route).filter((part) => part.virtualService === virtualService))
      .sort(byAge);
    const owners: Record<string, string> = {};
    const first = new Map<string, string>();
    for (const { route } of parts)
      for (const match of q.call(matchesOfRules, route).flat()) {
        const owner = first.get(match);
        if (owner === undefined) first.set(match, route.key);
        else if (owner !== route.key) owners[match] = owner;
      }
    return owners;
  },
);

/** The matches of each rule of a route as text, such that equal ones match the same requests. */
const matchesOfRules = query(
  "gatewayApiMatchesOfRules",
  (q, { kind, key }: RouteReference): readonly (readonly string[])[] => {
    const route = kind === "HTTPRoute" ? q.read(httpRoutes, key) : q.read(grpcRoutes, key);
    return (route?.spec.rules ?? []).map(({ matches }) => matches.map((match) => JSON.stringify(match)));
  },
);
