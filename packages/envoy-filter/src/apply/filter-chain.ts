import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import {
  type FilterChain,
  type FilterChainMatch,
  FilterChainSchema,
  FilterSchema,
} from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import {
  HttpConnectionManagerSchema,
  HttpFilterSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  EnvoyFilter_Patch_Operation as Operation,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { encodeStringField, joinEncoded, messageFieldParts } from "@istiod/protobuf-wire";
import {
  type ChainIdentity,
  filterChainMatches,
  httpFilterOf,
  type ListenerIdentity,
  listenerMatches,
  networkFilterOf,
} from "../match/listener-match.js";
import { patchesIn } from "../match/match.js";
import type { Effects, Patch, Patches } from "../patch.js";
import { packedName } from "../value/packed.js";
import { messageIn, splitAt, splitParts, stringIn } from "./encoded-fields.js";
import { type EncodedFilter, EncodedFilters, isNamed } from "./encoded-filters.js";
import type { ListenerPlace } from "./listener-place.js";
import { mergeValue } from "./merge-value.js";
import { encodedValueOf, isMerge } from "./named-list.js";
import { patchEncodedRoutes } from "./route-configuration.js";
import { mergeChainSocket } from "./transport-socket.js";

const { number: filtersField } = FilterChainSchema.field.filters;
const connectionManager = "envoy.filters.network.http_connection_manager";

/** A listener by what its patches match, and what is applied to its filter chains. */
export interface ChainScope {
  readonly listener: ListenerIdentity;
  readonly patches: Patches;
  readonly place: ListenerPlace;
}

/** Returns the encoded filter chains that patches add to a listener. One without filters is not added, as in Istio. */
export function addedFilterChains({ listener, patches, place }: ChainScope, effects: Effects): readonly Uint8Array[] {
  const added: Uint8Array[] = [];
  for (const patch of patchesIn(patches, ApplyTo.FILTER_CHAIN, place.context)) {
    if (patch.operation !== Operation.ADD || !listenerMatches(patch, listener)) continue;
    effects.apply(patch, () => {
      const chain = encodedValueOf(FilterChainSchema, patch);
      if (splitAt(chain, filtersField).elements.length === 0) return false;
      added.push(chain);
      return true;
    });
  }
  return added;
}

/**
 * Returns an encoded filter chain and its filters with the patches; undefined if it is removed. One without filters is,
 * as in Istio. It is decoded only if a patch depends on more than the names of its filters.
 */
export function patchEncodedChain(bytes: Uint8Array, scope: ChainScope, effects: Effects): Uint8Array | undefined {
  if (splitAt(bytes, filtersField).elements.length === 0) return undefined;
  const merged = mergeIntoChain(bytes, scope, effects);
  if (merged === undefined) return undefined;
  const { rest, elements } = splitAt(merged, filtersField);
  const filters = patchNetworkFilters(elements, new LazyChain(rest), scope, effects);
  return joinEncoded([...rest, ...filters.flatMap((filter) => messageFieldParts(filtersField, [filter]))]);
}

/** The fields of an encoded filter chain that patches match, decoded when one is first read. */
class LazyChain implements ChainIdentity {
  readonly #fields: readonly Uint8Array[];
  #chain: FilterChain | undefined;

  constructor(fields: readonly Uint8Array[]) {
    this.#fields = fields;
  }

  get name(): string {
    return this.#decoded.name;
  }

  get filterChainMatch(): FilterChainMatch | undefined {
    return this.#decoded.filterChainMatch;
  }

  get #decoded(): FilterChain {
    return (this.#chain ??= fromBinary(FilterChainSchema, joinEncoded(this.#fields)));
  }
}

/** Applies the patches of filter chains. Returns undefined if the chain is removed. */
function mergeIntoChain(bytes: Uint8Array, scope: ChainScope, effects: Effects): Uint8Array | undefined {
  const { listener, patches, place } = scope;
  const ofListener = patchesIn(patches, ApplyTo.FILTER_CHAIN, place.context).filter(
    (patch) => patch.operation !== Operation.ADD && listenerMatches(patch, listener),
  );
  if (ofListener.length === 0) return bytes;
  const chain = fromBinary(FilterChainSchema, bytes);
  for (const patch of ofListener) {
    // A chain that an earlier patch changed may no longer match.
    if (!filterChainMatches(patch, listener, chain)) continue;
    if (patch.operation === Operation.REMOVE) {
      effects.apply(patch, () => true);
      return undefined;
    }
    if (isMerge(patch)) effects.apply(patch, () => mergeChainValue(chain, patch));
  }
  return toBinary(FilterChainSchema, chain);
}

function mergeChainValue(chain: FilterChain, patch: Patch): void {
  if (patch.value !== undefined && mergeChainSocket(chain, patch.value as FilterChain)) return;
  mergeValue(FilterChainSchema, chain, patch);
}

/** Returns the patches of a kind that match a filter chain. */
function patchesOfChain(
  applyTo: ApplyTo,
  chain: ChainIdentity,
  { listener, patches, place }: ChainScope,
): readonly Patch[] {
  return patchesIn(patches, applyTo, place.context).filter(
    (patch) => listenerMatches(patch, listener) && filterChainMatches(patch, listener, chain),
  );
}

function patchNetworkFilters(
  encoded: readonly Uint8Array[],
  chain: ChainIdentity,
  scope: ChainScope,
  effects: Effects,
): readonly Uint8Array[] {
  const patches = patchesOfChain(ApplyTo.NETWORK_FILTER, chain, scope);
  const ofHttp = patchesOfChain(ApplyTo.HTTP_FILTER, chain, scope);
  const filters = new EncodedFilters(FilterSchema, networkFilterOf);
  return filters.patch(encoded, patches, scope.place.absentNetworkFilters ?? [], effects, (filter) =>
    filter.name === connectionManager ? patchManager(filter, ofHttp, scope, effects) : filter,
  );
}

/** Patches the HTTP filters of a connection manager, and its routes if they are within it. */
function patchManager(
  filter: EncodedFilter,
  ofChain: readonly Patch[],
  { patches, place }: ChainScope,
  effects: Effects,
): EncodedFilter {
  const { typedConfig } = FilterSchema.field;
  const { typeUrl, value } = AnySchema.field;
  const packed = messageIn(filter.bytes, typedConfig.number);
  const url = stringIn(packed, typeUrl.number);
  if (packedName({ typeUrl: url }) !== HttpConnectionManagerSchema.typeName) return filter;
  const matching = ofChain.filter((patch) => isNamed(filter, networkFilterOf(patch)));
  const { httpFilters, routeConfig } = HttpConnectionManagerSchema.field;
  let { rest, elements } = splitAt(messageIn(packed, value.number), httpFilters.number);
  if (place.patchesInlineRoutes !== undefined) {
    const inline = splitParts(rest, routeConfig.number);
    const routes = inline.elements.length === 0 ? undefined : joinEncoded(inline.elements);
    const patched = routes && patchInlineRoutes(routes, patches, place, effects);
    if (patched !== undefined) rest = [...inline.rest, ...messageFieldParts(routeConfig.number, [patched])];
  }
  if (matching.length > 0) {
    const filters = new EncodedFilters(HttpFilterSchema, httpFilterOf);
    elements = filters.patch(elements, matching, place.absentHttpFilters ?? [], effects);
  }
  const config = messageFieldParts(typedConfig.number, [
    encodeStringField(typeUrl.number, url),
    ...messageFieldParts(value.number, [
      ...rest,
      ...elements.flatMap((each) => messageFieldParts(httpFilters.number, [each])),
    ]),
  ]);
  return { name: filter.name, bytes: joinEncoded([...splitAt(filter.bytes, typedConfig.number).rest, ...config]) };
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
