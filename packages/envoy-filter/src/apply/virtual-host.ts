import { fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type Route,
  RouteSchema,
  type VirtualHost,
  VirtualHostSchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { EnvoyFilter_Patch_Operation as Operation } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { encodeMessageField, joinEncoded } from "@istiod/protobuf-wire";
import { matchesOneRoute, routeMatches, virtualHostMatches } from "../match/route-match.js";
import type { Effects, Patch } from "../patch.js";
import { splitAt, stringIn, stringsIn } from "./encoded-fields.js";
import { mergeEncoded, mergeValue } from "./merge-value.js";
import { isMerge, patchList, valueOf } from "./named-list.js";

/** The patches of a route configuration's virtual hosts and of their routes. */
export interface HostPatches {
  readonly ofHosts: readonly Patch[];
  readonly ofRoutes: readonly Patch[];
}

/** An encoded virtual host after its patches. */
export interface PatchedHost {
  /** The same bytes if nothing matches. */
  readonly bytes: Uint8Array;
  /** False: virtual hosts of its name are to be removed. */
  readonly remains: boolean;
}

/**
 * Applies patches to an encoded virtual host and its routes. It is decoded only if patches replace lists, or do more
 * with its routes than merging into all.
 */
export function patchEncodedHost(bytes: Uint8Array, { ofHosts, ofRoutes }: HostPatches, effects: Effects): PatchedHost {
  let patched = bytes;
  let identity = identifyHost(bytes);
  for (const patch of ofHosts) {
    if (!virtualHostMatches(patch, identity)) continue;
    if (patch.operation === Operation.REMOVE) {
      effects.apply(patch, () => true);
      return { bytes: patched, remains: false };
    }
    effects.apply(patch, () => {
      const next = mergedOrReplaced(patched, patch);
      if (next === undefined) return false;
      patched = next;
      identity = identifyHost(patched);
      return true;
    });
  }
  const matching = ofRoutes.filter((patch) => virtualHostMatches(patch, identity));
  return { bytes: matching.length === 0 ? patched : patchRoutes(patched, matching, effects), remains: true };
}

/** Returns what patches match a virtual host by. */
export function identifyHost(bytes: Uint8Array): Pick<VirtualHost, "name" | "domains"> {
  const { name, domains } = VirtualHostSchema.field;
  return { name: stringIn(bytes, name.number), domains: stringsIn(bytes, domains.number) };
}

/** Returns an encoded virtual host after a patch; undefined if the patch does neither merge nor replace. */
function mergedOrReplaced(bytes: Uint8Array, patch: Patch): Uint8Array | undefined {
  if (isMerge(patch)) return mergeEncoded(VirtualHostSchema, bytes, patch);
  if (patch.operation !== Operation.REPLACE) return undefined;
  return toBinary(VirtualHostSchema, valueOf(VirtualHostSchema, patch) as VirtualHost);
}

function patchRoutes(bytes: Uint8Array, patches: readonly Patch[], effects: Effects): Uint8Array {
  if (patches.every((patch) => patch.operation === Operation.MERGE && !matchesOneRoute(patch)))
    return mergeIntoAllRoutes(bytes, patches, effects);
  const host = fromBinary(VirtualHostSchema, bytes);
  const removed = new Set(host.routes.filter((route) => !mergeIntoRoute(route, patches, effects)));
  for (const patch of patches) {
    const selects = matchesOneRoute(patch) ? (route: Route) => matchesKept(patch, route, removed) : undefined;
    if (patch.operation === Operation.INSERT_FIRST && selects !== undefined && !host.routes.some(selects)) continue;
    // Routes are removed one by one above, and cannot be replaced.
    if (patch.operation === Operation.REMOVE || patch.operation === Operation.REPLACE) continue;
    const newElement = (): Route => valueOf(RouteSchema, patch) as Route;
    effects.apply(patch, () => patchList({ elements: host.routes, newElement, selects }, patch));
  }
  if (removed.size > 0) host.routes = host.routes.filter((route) => !removed.has(route));
  return toBinary(VirtualHostSchema, host);
}

function mergeIntoAllRoutes(bytes: Uint8Array, patches: readonly Patch[], effects: Effects): Uint8Array {
  const { number: field } = VirtualHostSchema.field.routes;
  const { rest, elements } = splitAt(bytes, field);
  const routes = elements.map((route) => {
    let merged = route;
    for (const patch of patches) effects.apply(patch, () => void (merged = mergeEncoded(RouteSchema, merged, patch)));
    return encodeMessageField(field, [merged]);
  });
  return joinEncoded([...rest, ...routes]);
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
