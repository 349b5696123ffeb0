import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Listener, ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import {
  type ListenerFilter,
  ListenerFilterSchema,
} from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { EnvoyFilter_Patch_Operation as Operation } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import {
  listenerFilterOf,
  type ListenerIdentity,
  listenerMatches,
  listenerNameMatches,
} from "../match/listener-match.js";
import type { Effects, Patch } from "../patch.js";
import { mergeListenerFilter, mergeValue } from "./merge-value.js";
import { isMerge, patchList, valueOf } from "./named-list.js";

/** The patches of listeners and their listener filters, in one context. */
export interface HeadPatches {
  readonly ofListeners: readonly Patch[];
  readonly ofListenerFilters: readonly Patch[];
}

/** An encoded listener without its filter chains, except for those that patches of the listener add. */
interface ListenerHead {
  readonly name: string;
  readonly fields: Uint8Array;
  /** Reports whether a patch replaces the filter chains. */
  readonly replacesChains?: boolean;
}

/** The fields of an encoded listener that patches match, decoded when one other than the name is first read. */
export class LazyListener implements ListenerIdentity {
  readonly name: string;
  readonly #fields: Uint8Array;
  #listener: Listener | undefined;

  constructor(name: string, fields: Uint8Array) {
    this.name = name;
    this.#fields = fields;
  }

  get address(): Listener["address"] {
    this.#listener ??= fromBinary(ListenerSchema, this.#fields);
    return this.#listener.address;
  }
}

/** Applies the patches of listeners and listener filters. Returns undefined if the listener is removed. */
export function mergeIntoListener(
  head: ListenerHead,
  { ofListeners, ofListenerFilters }: HeadPatches,
  effects: Effects,
): ListenerHead | undefined {
  if (![...ofListeners, ...ofListenerFilters].some((patch) => listenerNameMatches(patch, head.name))) return head;
  const listener = fromBinary(ListenerSchema, head.fields);
  let hasReplaced = false;
  for (const patch of ofListeners) {
    if (!listenerMatches(patch, listener)) continue;
    if (patch.operation === Operation.REMOVE) {
      effects.apply(patch, () => true);
      return undefined;
    }
    if (!isMerge(patch)) continue;
    effects.apply(patch, () => mergeValue(ListenerSchema, listener, patch));
    hasReplaced ||= replacesChains(patch);
  }
  for (const patch of ofListenerFilters)
    if (listenerMatches(patch, listener)) effects.apply(patch, () => patchListenerFilters(listener, patch));
  return { name: listener.name, fields: toBinary(ListenerSchema, listener), replacesChains: hasReplaced };
}

function replacesChains({ operation, value }: Patch): boolean {
  const listener = value as Listener | undefined;
  return operation === Operation.MERGE_AND_REPLACE_LIST && (listener?.filterChains.length ?? 0) > 0;
}

function patchListenerFilters(listener: Listener, patch: Patch): boolean {
  const wanted = listenerFilterOf(patch);
  const selects = wanted === undefined ? undefined : ({ name }: ListenerFilter) => name === wanted;
  const { listenerFilters: elements } = listener;
  const newElement = (): ListenerFilter => valueOf(ListenerFilterSchema, patch) as ListenerFilter;
  if (patch.operation !== Operation.MERGE) return patchList({ elements, newElement, selects }, patch);
  // As in Istio, each listener filter is merged, if the patch names one at all.
  if (selects === undefined) return false;
  const merged = elements.map((filter) => mergeListenerFilter(filter, patch));
  return merged.includes(true);
}
