import { type Listener, ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import {
  type ListenerFilter,
  ListenerFilterSchema,
} from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  EnvoyFilter_Patch_Operation as Operation,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { listenerFilterOf, listenerMatches, listenerNameMatches } from "../match/listener-match.js";
import { addsIn, patchesIn } from "../match/match.js";
import type { Effects, Patch, PatchContext, Patches } from "../patch.js";
import { patchFilterChains } from "./filter-chain.js";
import type { ListenerPlace } from "./listener-place.js";
import { mergeFilter, mergeValue } from "./merge-value.js";
import { isMerge, patchList, valueOf } from "./named-list.js";

const listenerKinds = [
  ApplyTo.LISTENER,
  ApplyTo.LISTENER_FILTER,
  ApplyTo.FILTER_CHAIN,
  ApplyTo.NETWORK_FILTER,
  ApplyTo.HTTP_FILTER,
] as const;

const routeKinds = [ApplyTo.ROUTE_CONFIGURATION, ApplyTo.VIRTUAL_HOST, ApplyTo.HTTP_ROUTE] as const;

/** Reports whether a patch may change a listener with this name. */
export function mayPatchListener(patches: Patches, name: string, place: ListenerPlace): boolean {
  const { context, patchesInlineRoutes } = place;
  if (patchesInlineRoutes !== undefined && routeKinds.some((kind) => patchesIn(patches, kind, context).length > 0))
    return true;
  return listenerKinds.some((kind) =>
    patchesIn(patches, kind, context).some(
      (patch) => !(kind === ApplyTo.LISTENER && patch.operation === Operation.ADD) && listenerNameMatches(patch, name),
    ),
  );
}

/**
 * Applies patches to a listener, its listener filters, filter chains and their filters, in place. Reports whether the
 * listener remains. Source: pilot/pkg/networking/core/envoyfilter/listener_patch.go.
 */
export function patchListener(listener: Listener, patches: Patches, place: ListenerPlace, effects: Effects): boolean {
  for (const patch of patchesIn(patches, ApplyTo.LISTENER, place.context)) {
    if (!listenerMatches(patch, listener)) continue;
    if (patch.operation === Operation.REMOVE) {
      effects.apply(patch, () => true);
      return false;
    }
    if (isMerge(patch)) effects.apply(patch, () => mergeValue(ListenerSchema, listener, patch));
  }
  for (const patch of patchesIn(patches, ApplyTo.LISTENER_FILTER, place.context))
    if (listenerMatches(patch, listener)) effects.apply(patch, () => patchListenerFilters(listener, patch));
  patchFilterChains(listener, patches, place, effects);
  return true;
}

function patchListenerFilters(listener: Listener, patch: Patch): boolean {
  const wanted = listenerFilterOf(patch);
  const selects = wanted === undefined ? undefined : ({ name }: ListenerFilter) => name === wanted;
  const { listenerFilters: elements } = listener;
  if (patch.operation !== Operation.MERGE) return patchList({ schema: ListenerFilterSchema, elements, selects }, patch);
  // As in Istio, each listener filter is merged, if the patch names one at all.
  if (selects === undefined) return false;
  const merged = elements.map((filter) => mergeFilter(filter, patch, "keep-name"));
  return merged.includes(true);
}

/** Returns the listeners that patches add in a context, with the patches. */
export function addedListeners(
  patches: Patches,
  context: PatchContext,
): readonly { readonly patch: Patch; readonly listener: Listener }[] {
  return (patches[ApplyTo.LISTENER] ?? [])
    .filter((patch) => patch.operation === Operation.ADD && addsIn(patch, context))
    .map((patch) => ({ patch, listener: valueOf(ListenerSchema, patch) as Listener }))
    .filter(({ listener }) => listener.name !== "");
}
