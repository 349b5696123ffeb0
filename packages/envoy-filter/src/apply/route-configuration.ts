import { type RouteConfiguration, RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import {
  type Route,
  RouteSchema,
  type VirtualHost,
  VirtualHostSchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  EnvoyFilter_Patch_Operation as Operation,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { patchesIn } from "../match/match.js";
import {
  matchesOneRoute,
  routeConfigurationMatches,
  routeMatches,
  type RoutePlace,
  virtualHostMatches,
} from "../match/route-match.js";
import type { Effects, Patch, Patches } from "../patch.js";
import { mergeValue } from "./merge-value.js";
import { isMerge, patchList, valueOf } from "./named-list.js";

const routeKinds = [ApplyTo.ROUTE_CONFIGURATION, ApplyTo.VIRTUAL_HOST, ApplyTo.HTTP_ROUTE] as const;

/** Reports whether a patch may change a route configuration with this name. */
export function mayPatchRoutes(patches: Patches, name: string, place: RoutePlace): boolean {
  return routeKinds.some((kind) =>
    patchesIn(patches, kind, place.context).some((patch) => routeConfigurationMatches(patch, name, place)),
  );
}

/**
 * Applies patches to a route configuration, its virtual hosts and their routes, in place. Source:
 * pilot/pkg/networking/core/envoyfilter/rc_patch.go.
 */
export function patchRouteConfiguration(
  configuration: RouteConfiguration,
  patches: Patches,
  place: RoutePlace,
  effects: Effects,
): void {
  for (const patch of patchesIn(patches, ApplyTo.ROUTE_CONFIGURATION, place.context))
    if (isMerge(patch) && routeConfigurationMatches(patch, configuration.name, place))
      effects.apply(patch, () => mergeValue(RouteConfigurationSchema, configuration, patch));
  const matching = (kind: ApplyTo): readonly Patch[] =>
    patchesIn(patches, kind, place.context).filter((patch) =>
      routeConfigurationMatches(patch, configuration.name, place),
    );
  const [ofHosts, ofRoutes] = [matching(ApplyTo.VIRTUAL_HOST), matching(ApplyTo.HTTP_ROUTE)];
  const removed = new Set<string>();
  const patched = configuration.virtualHosts.map((original) => {
    const { host, remains } = patchVirtualHost(original, ofHosts, effects);
    if (remains) patchRoutes(host, ofRoutes, effects);
    else removed.add(host.name);
    return host;
  });
  for (const patch of ofHosts)
    if (patch.operation === Operation.ADD)
      effects.apply(patch, () => void patched.push(valueOf(VirtualHostSchema, patch) as VirtualHost));
  configuration.virtualHosts = removed.size === 0 ? patched : patched.filter(({ name }) => !removed.has(name));
}

/** Merges into, replaces or removes a virtual host. Returns what it has become, and whether it remains. */
function patchVirtualHost(
  original: VirtualHost,
  patches: readonly Patch[],
  effects: Effects,
): { readonly host: VirtualHost; readonly remains: boolean } {
  let host = original;
  for (const patch of patches) {
    if (!virtualHostMatches(patch, host)) continue;
    if (patch.operation === Operation.REMOVE) {
      effects.apply(patch, () => true);
      return { host, remains: false };
    }
    if (isMerge(patch)) effects.apply(patch, () => mergeValue(VirtualHostSchema, host, patch));
    else if (patch.operation === Operation.REPLACE)
      effects.apply(patch, () => void (host = valueOf(VirtualHostSchema, patch) as VirtualHost));
  }
  return { host, remains: true };
}

function patchRoutes(host: VirtualHost, ofRoutes: readonly Patch[], effects: Effects): void {
  const patches = ofRoutes.filter((patch) => virtualHostMatches(patch, host));
  const removed = new Set(host.routes.filter((route) => !mergeIntoRoute(route, patches, effects)));
  for (const patch of patches) {
    const selects = matchesOneRoute(patch) ? (route: Route) => matchesKept(patch, route, removed) : undefined;
    if (patch.operation === Operation.INSERT_FIRST && selects !== undefined && !host.routes.some(selects)) continue;
    // Routes are removed one by one above, and cannot be replaced.
    if (patch.operation === Operation.REMOVE || patch.operation === Operation.REPLACE) continue;
    effects.apply(patch, () => patchList({ schema: RouteSchema, elements: host.routes, selects }, patch));
  }
  if (removed.size > 0) host.routes = host.routes.filter((route) => !removed.has(route));
}

/** Reports whether a patch matches a route that is not removed. */
function matchesKept(patch: Patch, route: Route, removed: ReadonlySet<Route>): boolean {
  return !removed.has(route) && routeMatches(patch, route);
}

/** Merges patches into a route. Reports whether the route remains. */
function mergeIntoRoute(route: Route, patches: readonly Patch[], effects: Effects): boolean {
  for (const patch of patches) {
    if (!routeMatches(patch, route)) continue;
    if (patch.operation === Operation.REMOVE) {
      effects.apply(patch, () => true);
      return false;
    }
    if (isMerge(patch)) effects.apply(patch, () => mergeValue(RouteSchema, route, patch));
  }
  return true;
}
