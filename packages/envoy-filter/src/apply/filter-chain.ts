import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import type { Listener } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import {
  type Filter,
  type FilterChain,
  FilterChainSchema,
  FilterSchema,
} from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import {
  HttpConnectionManagerSchema,
  type HttpFilter,
  HttpFilterSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  EnvoyFilter_Patch_Operation as Operation,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { encodeMessageField, joinEncoded } from "@istiod/protobuf-wire";
import { filterChainMatches, httpFilterOf, listenerMatches, networkFilterOf } from "../match/listener-match.js";
import { patchesIn } from "../match/match.js";
import type { Effects, Patch, Patches } from "../patch.js";
import { packedName } from "../value/packed.js";
import { withAbsentFilters } from "./absent-filters.js";
import { splitAt, stringIn } from "./encoded-fields.js";
import type { ListenerPlace } from "./listener-place.js";
import { mergeFilter, mergeValue, typedConfigOf } from "./merge-value.js";
import { isMerge, patchList, valueOf } from "./named-list.js";
import { patchEncodedRoutes } from "./route-configuration.js";
import { mergeChainSocket } from "./transport-socket.js";

const connectionManager = "envoy.filters.network.http_connection_manager";

/** Patches that match a listener, by what they apply to. */
interface Scoped {
  readonly listener: Listener;
  readonly patches: Patches;
  readonly place: ListenerPlace;
  readonly effects: Effects;
}

/** Patches the filter chains of a listener in place. A chain without filters is removed, as in Istio. */
export function patchFilterChains(listener: Listener, patches: Patches, place: ListenerPlace, effects: Effects): void {
  const scoped: Scoped = { listener, patches, place, effects };
  const kept = listener.filterChains.filter((chain) => chain.filters.length > 0 && patchFilterChain(chain, scoped));
  const fallback = listener.defaultFilterChain;
  if (fallback !== undefined && fallback.filters.length > 0 && !patchFilterChain(fallback, scoped))
    delete listener.defaultFilterChain;
  for (const patch of patchesIn(patches, ApplyTo.FILTER_CHAIN, place.context)) {
    if (patch.operation !== Operation.ADD || !listenerMatches(patch, listener)) continue;
    effects.apply(patch, () => {
      const added = valueOf(FilterChainSchema, patch) as FilterChain;
      if (added.filters.length === 0) return false;
      kept.push(added);
      return true;
    });
  }
  listener.filterChains = kept;
}

/** Returns the patches of a kind that match a filter chain. */
function patchesOfChain(applyTo: ApplyTo, chain: FilterChain, { listener, patches, place }: Scoped): readonly Patch[] {
  return patchesIn(patches, applyTo, place.context).filter(
    (patch) => listenerMatches(patch, listener) && filterChainMatches(patch, listener, chain),
  );
}

/** Patches a filter chain and its filters. Reports whether the chain remains. */
function patchFilterChain(chain: FilterChain, scoped: Scoped): boolean {
  const { listener, patches, place, effects } = scoped;
  for (const patch of patchesIn(patches, ApplyTo.FILTER_CHAIN, place.context)) {
    // A chain that an earlier patch changed may no longer match.
    if (!listenerMatches(patch, listener) || !filterChainMatches(patch, listener, chain)) continue;
    if (patch.operation === Operation.REMOVE) {
      effects.apply(patch, () => true);
      return false;
    }
    if (isMerge(patch)) effects.apply(patch, () => mergeIntoChain(chain, patch));
  }
  patchNetworkFilters(chain, scoped);
  return true;
}

function mergeIntoChain(chain: FilterChain, patch: Patch): void {
  if (patch.value !== undefined && mergeChainSocket(chain, patch.value as FilterChain)) return;
  mergeValue(FilterChainSchema, chain, patch);
}

function patchNetworkFilters(chain: FilterChain, scoped: Scoped): void {
  const { place, effects } = scoped;
  const patches = patchesOfChain(ApplyTo.NETWORK_FILTER, chain, scoped);
  const ofHttp = patchesOfChain(ApplyTo.HTTP_FILTER, chain, scoped);
  withAbsentFilters(FilterSchema, chain.filters, place.absentNetworkFilters ?? [], () => {
    for (const patch of patches) {
      const selects = selectsNamed(networkFilterOf(patch));
      effects.apply(patch, () => patchList({ schema: FilterSchema, elements: chain.filters, selects }, patch));
    }
    for (const filter of chain.filters) {
      for (const patch of patches)
        if (patch.operation === Operation.MERGE && isNamed(filter, networkFilterOf(patch)))
          effects.apply(patch, () => mergeFilter(filter, patch, "rename"));
      if (filter.name === connectionManager) patchManager(filter, ofHttp, scoped);
    }
  });
}

/**
 * Patches the HTTP filters of a connection manager, and its routes if they are within it. Only these fields of it are
 * decoded.
 */
function patchManager(filter: Filter, ofChain: readonly Patch[], { patches, place, effects }: Scoped): void {
  const packed = typedConfigOf(filter);
  if (packed === undefined || packedName(packed) !== HttpConnectionManagerSchema.typeName) return;
  const matching = ofChain.filter((patch) => isNamed(filter, networkFilterOf(patch)));
  const fields = HttpConnectionManagerSchema.field;
  let { rest, elements } = splitAt(packed.value, fields.httpFilters.number);
  if (place.patchesInlineRoutes !== undefined) {
    const inline = splitAt(joinEncoded(rest), fields.routeConfig.number);
    const routes = inline.elements.length === 0 ? undefined : joinEncoded(inline.elements);
    const patched = routes && patchInlineRoutes(routes, patches, place, effects);
    if (patched !== undefined) rest = [...inline.rest, encodeMessageField(fields.routeConfig.number, [patched])];
  }
  if (matching.length > 0) {
    const httpFilters = elements.map((each) => fromBinary(HttpFilterSchema, each));
    patchHttpFilters(httpFilters, matching, place, effects);
    elements = httpFilters.map((each) => toBinary(HttpFilterSchema, each));
  }
  const filters = elements.map((each) => encodeMessageField(fields.httpFilters.number, [each]));
  const value = joinEncoded([...rest, ...filters]);
  filter.configType = { case: "typedConfig", value: create(AnySchema, { typeUrl: packed.typeUrl, value }) };
}

function patchInlineRoutes(
  bytes: Uint8Array,
  patches: Patches,
  { context, patchesInlineRoutes }: ListenerPlace,
  effects: Effects,
): Uint8Array | undefined {
  const name = stringIn(bytes, RouteConfigurationSchema.field.name.number);
  return patchesInlineRoutes?.(name) === true
    ? patchEncodedRoutes(bytes, name, patches, { context }, effects)
    : undefined;
}

function patchHttpFilters(
  elements: HttpFilter[],
  patches: readonly Patch[],
  { absentHttpFilters = [] }: ListenerPlace,
  effects: Effects,
): void {
  withAbsentFilters(HttpFilterSchema, elements, absentHttpFilters, () => {
    for (const patch of patches) {
      const selects = selectsNamed(httpFilterOf(patch));
      effects.apply(patch, () => patchList({ schema: HttpFilterSchema, elements, selects }, patch));
    }
    for (const filter of elements)
      for (const patch of patches)
        if (patch.operation === Operation.MERGE && isNamed(filter, httpFilterOf(patch)))
          effects.apply(patch, () => mergeFilter(filter, patch, "rename"));
  });
}

function selectsNamed(name: string | undefined): ((filter: { readonly name: string }) => boolean) | undefined {
  return name === undefined ? undefined : (filter) => filter.name === name;
}

function isNamed(filter: { readonly name: string }, name: string | undefined): boolean {
  return name === undefined || filter.name === name;
}
