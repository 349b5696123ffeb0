import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
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
import { encodeMessageField, joinEncoded } from "@istiod/protobuf-wire";
import { patchesIn } from "../match/match.js";
import {
  matchesOneRoute,
  routeConfigurationMatches,
  routeMatches,
  type RoutePlace,
  virtualHostMatches,
} from "../match/route-match.js";
import type { Effects, Patch, Patches } from "../patch.js";
import { splitAt, stringIn, stringsIn } from "./encoded-fields.js";
import { mergeEncoded, mergeValue } from "./merge-value.js";
import { isMerge, patchList, valueOf } from "./named-list.js";

const routeKinds = [ApplyTo.ROUTE_CONFIGURATION, ApplyTo.VIRTUAL_HOST, ApplyTo.HTTP_ROUTE] as const;

/** Reports whether a patch may change a route configuration with this name. */
export function mayPatchRoutes(patches: Patches, name: string, place: RoutePlace): boolean {
  return routeKinds.some((kind) =>
    patchesIn(patches, kind, place.context).some((patch) => routeConfigurationMatches(patch, name, place)),
  );
}

/**
 * Applies patches to an encoded route configuration, its virtual hosts and their routes. Only the virtual hosts that
 * patches match are decoded. Source: pilot/pkg/networking/core/envoyfilter/rc_patch.go.
 */
export function patchEncodedRoutes(
  bytes: Uint8Array,
  patches: Patches,
  place: RoutePlace,
  effects: Effects,
): Uint8Array {
  const { virtualHosts } = RouteConfigurationSchema.field;
  const merged = mergeIntoConfiguration(bytes, patches, place, effects);
  const name = stringIn(merged, RouteConfigurationSchema.field.name.number);
  const matching = (kind: ApplyTo): readonly Patch[] =>
    patchesIn(patches, kind, place.context).filter((patch) => routeConfigurationMatches(patch, name, place));
  const [ofHosts, ofRoutes] = [matching(ApplyTo.VIRTUAL_HOST), matching(ApplyTo.HTTP_ROUTE)];
  if (ofHosts.length + ofRoutes.length === 0) return merged;
  const { rest, elements } = splitAt(merged, virtualHosts.number);
  const removed = new Set<string>();
  const hosts = elements.map((element) => patchHost(element, ofHosts, ofRoutes, removed, effects));
  for (const patch of ofHosts)
    if (patch.operation === Operation.ADD)
      effects.apply(
        patch,
        () => void hosts.push(toBinary(VirtualHostSchema, valueOf(VirtualHostSchema, patch) as VirtualHost)),
      );
  const kept = removed.size === 0 ? hosts : hosts.filter((host) => !removed.has(identify(host).name));
  return joinEncoded([...rest, ...kept.map((host) => encodeMessageField(virtualHosts.number, [host]))]);
}

function mergeIntoConfiguration(bytes: Uint8Array, patches: Patches, place: RoutePlace, effects: Effects): Uint8Array {
  let merged = bytes;
  for (const patch of patchesIn(patches, ApplyTo.ROUTE_CONFIGURATION, place.context)) {
    const name = stringIn(merged, RouteConfigurationSchema.field.name.number);
    if (isMerge(patch) && routeConfigurationMatches(patch, name, place))
      effects.apply(patch, () => void (merged = mergeEncoded(RouteConfigurationSchema, merged, patch)));
  }
  return merged;
}

/** Returns the encoding of a virtual host with its patches. The name of a removed one is added to a set. */
function patchHost(
  bytes: Uint8Array,
  ofHosts: readonly Patch[],
  ofRoutes: readonly Patch[],
  removed: Set<string>,
  effects: Effects,
): Uint8Array {
  const identity = identify(bytes);
  if (![...ofHosts, ...ofRoutes].some((patch) => virtualHostMatches(patch, identity))) return bytes;
  const { host, remains } = patchVirtualHost(fromBinary(VirtualHostSchema, bytes), ofHosts, effects);
  if (remains) patchRoutes(host, ofRoutes, effects);
  else removed.add(host.name);
  return toBinary(VirtualHostSchema, host);
}

/** Returns what patches match a virtual host by. */
function identify(bytes: Uint8Array): Pick<VirtualHost, "name" | "domains"> {
  const { name, domains } = VirtualHostSchema.field;
  return { name: stringIn(bytes, name.number), domains: stringsIn(bytes, domains.number) };
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
