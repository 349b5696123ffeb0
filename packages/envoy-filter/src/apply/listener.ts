import { hash } from "node:crypto";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Listener, ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import {
  type ListenerFilter,
  ListenerFilterSchema,
} from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  EnvoyFilter_Patch_Operation as Operation,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { joinEncoded, messageFieldParts } from "@istiod/protobuf-wire";
import {
  isVirtualListener,
  listenerFilterOf,
  type ListenerIdentity,
  listenerMatches,
  listenerNameMatches,
} from "../match/listener-match.js";
import { addsIn, patchesIn } from "../match/match.js";
import { Effects, type Patch, type PatchContext, type Patches } from "../patch.js";
import { splitAt, splitParts } from "./encoded-fields.js";
import { addedFilterChains, type ChainScope, patchEncodedChain } from "./filter-chain.js";
import type { ListenerPlace } from "./listener-place.js";
import { mergeListenerFilter, mergeValue } from "./merge-value.js";
import { isMerge, patchList, valueOf } from "./named-list.js";

const chainKinds = [ApplyTo.FILTER_CHAIN, ApplyTo.NETWORK_FILTER, ApplyTo.HTTP_FILTER] as const;
const listenerKinds = [ApplyTo.LISTENER, ApplyTo.LISTENER_FILTER, ...chainKinds] as const;

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

/** An encoded listener, with its name. */
export interface EncodedListener {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** An encoded filter chain after its patches. */
interface PatchedChain {
  /** Absent: the chain is removed. */
  readonly bytes?: Uint8Array | undefined;
  readonly effects: Effects;
}

const { filterChains, defaultFilterChain } = ListenerSchema.field;

/** The number of filter chains of which results are kept: about those of a few hundred workloads. */
const mostChains = 1000;

/**
 * Applies the same patches to any number of encoded listeners, their listener filters, filter chains and filters. Only
 * what patches depend on is decoded. Many listeners have equal filter chains: the last results are kept. Source:
 * pilot/pkg/networking/core/envoyfilter/listener_patch.go.
 */
export class ListenerPatcher {
  readonly #patches: Patches;
  readonly #place: ListenerPlace;
  readonly #chains = new Map<string, PatchedChain>();

  constructor(patches: Patches, place: ListenerPlace) {
    this.#patches = patches;
    this.#place = place;
  }

  /**
   * Returns a listener with the patches; undefined if it is removed. It is the same object if no patch may change a
   * listener with its name.
   */
  patch(unpatched: EncodedListener, effects: Effects): EncodedListener | undefined {
    const [patches, place] = [this.#patches, this.#place];
    if (!mayPatchListener(patches, unpatched.name, place)) return unpatched;
    const split = splitAt(unpatched.bytes, filterChains.number);
    const merged = mergeIntoListener({ name: unpatched.name, fields: split.rest }, patches, place, effects);
    if (merged === undefined) return undefined;
    const own = splitParts(merged.fields, filterChains.number);
    const { rest, elements } = splitParts(own.rest, defaultFilterChain.number);
    const scope = { listener: new LazyListener(merged.name, rest), patches, place };
    const chains = this.#patchChains(
      [...(merged.replacesChains ? [] : split.elements), ...own.elements],
      scope,
      effects,
    );
    const fallback = this.#patchChains(elements.length === 0 ? [] : [joinEncoded(elements)], scope, effects);
    const added = addedFilterChains(scope, effects);
    return {
      name: merged.name,
      bytes: joinEncoded([
        ...rest,
        ...[...chains, ...added].flatMap((chain) => messageFieldParts(filterChains.number, [chain])),
        ...fallback.flatMap((chain) => messageFieldParts(defaultFilterChain.number, [chain])),
      ]),
    };
  }

  #patchChains(elements: readonly Uint8Array[], scope: ChainScope, effects: Effects): readonly Uint8Array[] {
    // Others have a single chain, of which equal ones are rare.
    const matching = isVirtualListener(scope.listener) ? chainPatchesKey(scope) : undefined;
    return elements.flatMap((element) => {
      const result = matching === undefined ? patchedChain(element, scope) : this.#keptChain(matching, element, scope);
      effects.addAll(result.effects);
      return result.bytes ?? [];
    });
  }

  #keptChain(matching: string, element: Uint8Array, scope: ChainScope): PatchedChain {
    const key = `${matching} ${hash("sha256", element, "base64")}`;
    const result = this.#chains.get(key) ?? patchedChain(element, scope);
    this.#keep(key, result);
    return result;
  }

  #keep(key: string, result: PatchedChain): void {
    this.#chains.delete(key);
    this.#chains.set(key, result);
    const [oldest] = this.#chains.keys();
    if (this.#chains.size > mostChains && oldest !== undefined) this.#chains.delete(oldest);
  }
}

/** The fields of an encoded listener that patches match, decoded when one other than the name is first read. */
class LazyListener implements ListenerIdentity {
  readonly name: string;
  readonly #fields: readonly Uint8Array[];
  #listener: Listener | undefined;

  constructor(name: string, fields: readonly Uint8Array[]) {
    this.name = name;
    this.#fields = fields;
  }

  get address(): Listener["address"] {
    this.#listener ??= fromBinary(ListenerSchema, joinEncoded(this.#fields));
    return this.#listener.address;
  }
}

/** An encoded listener without its filter chains, except for those that patches of the listener add. */
interface ListenerHead {
  readonly name: string;
  readonly fields: readonly Uint8Array[];
  /** Reports whether a patch replaces the filter chains. */
  readonly replacesChains?: boolean;
}

/** Applies the patches of listeners and listener filters. Returns undefined if the listener is removed. */
function mergeIntoListener(
  head: ListenerHead,
  patches: Patches,
  { context }: ListenerPlace,
  effects: Effects,
): ListenerHead | undefined {
  const ofListener = patchesIn(patches, ApplyTo.LISTENER, context).filter(
    ({ operation }) => operation !== Operation.ADD,
  );
  const ofFilters = patchesIn(patches, ApplyTo.LISTENER_FILTER, context);
  if (![...ofListener, ...ofFilters].some((patch) => listenerNameMatches(patch, head.name))) return head;
  const listener = fromBinary(ListenerSchema, joinEncoded(head.fields));
  let hasReplaced = false;
  for (const patch of ofListener) {
    if (!listenerMatches(patch, listener)) continue;
    if (patch.operation === Operation.REMOVE) {
      effects.apply(patch, () => true);
      return undefined;
    }
    if (!isMerge(patch)) continue;
    effects.apply(patch, () => mergeValue(ListenerSchema, listener, patch));
    hasReplaced ||= replacesChains(patch);
  }
  for (const patch of ofFilters)
    if (listenerMatches(patch, listener)) effects.apply(patch, () => patchListenerFilters(listener, patch));
  return { name: listener.name, fields: [toBinary(ListenerSchema, listener)], replacesChains: hasReplaced };
}

function replacesChains({ operation, value }: Patch): boolean {
  const listener = value as Listener | undefined;
  return operation === Operation.MERGE_AND_REPLACE_LIST && (listener?.filterChains.length ?? 0) > 0;
}

function patchedChain(bytes: Uint8Array, scope: ChainScope): PatchedChain {
  const effects = new Effects();
  return { bytes: patchEncodedChain(bytes, scope, effects), effects };
}

/** Returns a key of everything that the patching of a listener's filter chains depends on, except for the chains. */
function chainPatchesKey({ listener, patches, place }: ChainScope): string {
  const matching = chainKinds.flatMap((kind) =>
    patchesIn(patches, kind, place.context).filter((patch) => listenerMatches(patch, listener)),
  );
  return JSON.stringify([listener.name, ...matching.map(({ id }) => id)]);
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
