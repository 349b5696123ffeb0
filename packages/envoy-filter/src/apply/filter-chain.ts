import { fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type FilterChain,
  type FilterChainMatch,
  FilterChainSchema,
  FilterSchema,
} from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { EnvoyFilter_Patch_Operation as Operation } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { joinEncoded, messageFieldParts } from "@istiod/protobuf-wire";
import {
  type ChainIdentity,
  filterChainMatches,
  type ListenerIdentity,
  listenerMatches,
  matchesByChain,
  networkFilterOf,
} from "../match/listener-match.js";
import type { Effects, Patch, Patches } from "../patch.js";
import { ManagerPatcher } from "./connection-manager.js";
import { splitAt } from "./encoded-fields.js";
import { EncodedFilters } from "./encoded-filters.js";
import type { ListenerPlace } from "./listener-place.js";
import { mergeValue } from "./merge-value.js";
import { encodedValueOf, isMerge } from "./named-list.js";
import { mergeChainSocket } from "./transport-socket.js";

const { number: filtersField } = FilterChainSchema.field.filters;

/** The patches of filter chains, their network filters and HTTP filters. */
export interface ChainPatches {
  readonly ofChains: readonly Patch[];
  readonly ofNetworkFilters: readonly Patch[];
  readonly ofHttpFilters: readonly Patch[];
}

/** Applies the patches that match a listener to its filter chains. */
export class ChainPatcher {
  readonly #listener: ListenerIdentity;
  readonly #ofChains: readonly Patch[];
  readonly #filtersOf: (chain: ChainIdentity) => FiltersPatcher;

  constructor(listener: ListenerIdentity, patches: ChainPatches, filters: FiltersPatchers) {
    const matching = (some: readonly Patch[]): readonly Patch[] =>
      some.filter((patch) => listenerMatches(patch, listener));
    const [ofNetwork, ofHttp] = [matching(patches.ofNetworkFilters), matching(patches.ofHttpFilters)];
    this.#listener = listener;
    this.#ofChains = matching(patches.ofChains);
    if ([...ofNetwork, ...ofHttp].some((patch) => matchesByChain(patch, listener)))
      this.#filtersOf = (chain) => {
        const matches = (patch: Patch): boolean => filterChainMatches(patch, listener, chain);
        return filters.of(ofNetwork.filter(matches), ofHttp.filter(matches));
      };
    else {
      const same = filters.of(ofNetwork, ofHttp);
      this.#filtersOf = () => same;
    }
  }

  /** Returns the encoded filter chains that patches add. One without filters is not added, as in Istio. */
  added(effects: Effects): readonly Uint8Array[] {
    const added: Uint8Array[] = [];
    for (const patch of this.#ofChains) {
      if (patch.operation !== Operation.ADD) continue;
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
   * Returns an encoded filter chain and its filters with the patches, in parts; undefined if it is removed. One without
   * filters is, as in Istio. It is decoded only if a patch depends on more than the names of its filters.
   */
  patch(bytes: Uint8Array, effects: Effects): readonly Uint8Array[] | undefined {
    if (splitAt(bytes, filtersField).elements.length === 0) return undefined;
    const merged = this.#merge(bytes, effects);
    if (merged === undefined) return undefined;
    const { rest, elements } = splitAt(merged, filtersField);
    const filters = this.#filtersOf(new LazyChain(rest)).patch(elements, effects);
    return [...rest, ...filters.flatMap((parts) => messageFieldParts(filtersField, parts))];
  }

  /** Applies the patches of filter chains. Returns undefined if the chain is removed. */
  #merge(bytes: Uint8Array, effects: Effects): Uint8Array | undefined {
    const patches = this.#ofChains.filter(({ operation }) => operation !== Operation.ADD);
    if (patches.length === 0) return bytes;
    const chain = fromBinary(FilterChainSchema, bytes);
    for (const patch of patches) {
      // A chain that an earlier patch changed may no longer match.
      if (!filterChainMatches(patch, this.#listener, chain)) continue;
      if (patch.operation === Operation.REMOVE) {
        effects.apply(patch, () => true);
        return undefined;
      }
      if (isMerge(patch)) effects.apply(patch, () => mergeChainValue(chain, patch));
    }
    return toBinary(FilterChainSchema, chain);
  }
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

function mergeChainValue(chain: FilterChain, patch: Patch): void {
  if (patch.value !== undefined && mergeChainSocket(chain, patch.value as FilterChain)) return;
  mergeValue(FilterChainSchema, chain, patch);
}

/** Applies the same patches to the network filters of any number of filter chains, all of which they match. */
class FiltersPatcher {
  readonly #filters: EncodedFilters;
  readonly #manager: ManagerPatcher;

  constructor(filters: EncodedFilters, manager: ManagerPatcher) {
    this.#filters = filters;
    this.#manager = manager;
  }

  /** Returns encoded network filters with the patches, each in parts. */
  patch(encoded: readonly Uint8Array[], effects: Effects): readonly (readonly Uint8Array[])[] {
    return this.#filters.patch(encoded, effects, (filter) => this.#manager.patch(filter, effects));
  }
}

/** The patchers of filters of listeners in one place, by the patches that match a chain. */
export class FiltersPatchers {
  readonly #patches: Patches;
  readonly #place: ListenerPlace;
  readonly #byPatches = new Map<string, FiltersPatcher>();

  constructor(patches: Patches, place: ListenerPlace) {
    this.#patches = patches;
    this.#place = place;
  }

  /** Returns the patcher of filters: the same one for the same patches. */
  of(ofNetworkFilters: readonly Patch[], ofHttpFilters: readonly Patch[]): FiltersPatcher {
    const key = JSON.stringify([ofNetworkFilters, ofHttpFilters].map((some) => some.map(({ id }) => id)));
    let patcher = this.#byPatches.get(key);
    if (patcher === undefined) {
      const absent = this.#place.absentNetworkFilters ?? [];
      const patches = ofNetworkFilters;
      patcher = new FiltersPatcher(
        new EncodedFilters({ schema: FilterSchema, patches, nameOf: networkFilterOf, absent }),
        new ManagerPatcher(ofHttpFilters, this.#patches, this.#place),
      );
      this.#byPatches.set(key, patcher);
    }
    return patcher;
  }
}
