import { hash } from "node:crypto";
import { type Listener, ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  EnvoyFilter_Patch_Operation as Operation,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { joinEncoded, messageFieldParts } from "@istiod/protobuf-wire";
import { RecentMap } from "@istiod/runtime";
import { isVirtualListener, listenerNameMatches } from "../match/listener-match.js";
import { addsIn, patchesIn } from "../match/match.js";
import { Effects, type Patch, type PatchContext, type Patches } from "../patch.js";
import { splitAt, splitParts } from "./encoded-fields.js";
import { type ChainPatches, ChainPatcher, FiltersPatchers } from "./filter-chain.js";
import { type HeadPatches, LazyListener, mergeIntoListener } from "./listener-head.js";
import type { ListenerPlace } from "./listener-place.js";
import { valueOf } from "./named-list.js";

const routeKinds = [ApplyTo.ROUTE_CONFIGURATION, ApplyTo.VIRTUAL_HOST, ApplyTo.HTTP_ROUTE] as const;

/** An encoded listener, with its name. */
export interface EncodedListener {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The fields of a listener other than its filter chains, after their patches. */
interface PatchedHead {
  readonly name: string;
  readonly fields: Uint8Array;
  /** The filter chains that patches of the listener add. */
  readonly chains: readonly Uint8Array[];
  readonly replacesChains: boolean;
  /** Absent: there is no default chain. */
  readonly defaultChain: Uint8Array | undefined;
  /** Applies the patches of the filter chains. */
  readonly patcher: ChainPatcher;
}

interface PatchedHeadResult {
  /** Undefined: the listener is removed. */
  readonly head: PatchedHead | undefined;
  readonly effects: Effects;
}

const { filterChains, defaultFilterChain } = ListenerSchema.field;

/** The number of different heads of listeners of which results are kept. */
const maxHeads = 1000;

/**
 * Applies the same patches to any number of encoded listeners, their listener filters, filter chains and filters. Only
 * what patches depend on is decoded. The listeners of many workloads differ in a few fields: the last results of the
 * parts that they have in common are kept. Source: pilot/pkg/networking/core/envoyfilter/listener_patch.go.
 */
export class ListenerPatcher {
  readonly #ofHeads: HeadPatches;
  readonly #ofChains: ChainPatches;
  readonly #patchesRoutes: boolean;
  readonly #filters: FiltersPatchers;
  readonly #heads = new RecentMap<PatchedHeadResult>(maxHeads);

  constructor(patches: Patches, place: ListenerPlace) {
    const { context, patchesInlineRoutes } = place;
    this.#ofHeads = {
      ofListeners: patchesIn(patches, ApplyTo.LISTENER, context).filter(({ operation }) => operation !== Operation.ADD),
      ofListenerFilters: patchesIn(patches, ApplyTo.LISTENER_FILTER, context),
    };
    this.#ofChains = {
      ofChains: patchesIn(patches, ApplyTo.FILTER_CHAIN, context),
      ofNetworkFilters: patchesIn(patches, ApplyTo.NETWORK_FILTER, context),
      ofHttpFilters: patchesIn(patches, ApplyTo.HTTP_FILTER, context),
    };
    this.#patchesRoutes =
      patchesInlineRoutes !== undefined && routeKinds.some((kind) => patchesIn(patches, kind, context).length > 0);
    this.#filters = new FiltersPatchers(patches, place);
  }

  /**
   * Returns a listener with the patches; undefined if it is removed. It is the same object if no patch may change a
   * listener with its name.
   */
  patch(unpatched: EncodedListener, effects: Effects): EncodedListener | undefined {
    if (!this.#mayPatch(unpatched.name)) return unpatched;
    const { rest, elements } = splitAt(unpatched.bytes, filterChains.number);
    const { head, effects: ofHead } = this.#patchHead(unpatched.name, rest);
    effects.addAll(ofHead);
    if (head === undefined) return undefined;
    const fields = (field: number, chains: readonly Uint8Array[]): readonly Uint8Array[] =>
      chains.flatMap((chain) => {
        const patched = head.patcher.patch(chain, effects);
        return patched === undefined ? [] : messageFieldParts(field, patched);
      });
    const chains = fields(filterChains.number, [...(head.replacesChains ? [] : elements), ...head.chains]);
    const defaultChain = fields(defaultFilterChain.number, head.defaultChain === undefined ? [] : [head.defaultChain]);
    const added = head.patcher.added(effects).flatMap((chain) => messageFieldParts(filterChains.number, [chain]));
    return { name: head.name, bytes: joinEncoded([head.fields, ...chains, ...added, ...defaultChain]) };
  }

  /** Reports whether a patch may change a listener with this name. */
  #mayPatch(name: string): boolean {
    const { ofListeners, ofListenerFilters } = this.#ofHeads;
    const { ofChains, ofNetworkFilters, ofHttpFilters } = this.#ofChains;
    const mayMatch = (patch: Patch): boolean => listenerNameMatches(patch, name);
    return (
      this.#patchesRoutes ||
      [ofListeners, ofListenerFilters, ofChains, ofNetworkFilters, ofHttpFilters].some((some) => some.some(mayMatch))
    );
  }

  /** @param fields the encoded fields of a listener other than its filter chains */
  #patchHead(name: string, fields: readonly Uint8Array[]): PatchedHeadResult {
    const joined = joinEncoded(fields);
    const patch = (): PatchedHeadResult => this.#patchedHead(name, joined);
    // Others are shared as a whole by the workloads that have them.
    return isVirtualListener({ name })
      ? this.#heads.getOrCompute(`${name} ${hash("sha256", joined, "base64")}`, patch)
      : patch();
  }

  #patchedHead(name: string, fields: Uint8Array): PatchedHeadResult {
    const effects = new Effects();
    const merged = mergeIntoListener({ name, fields }, this.#ofHeads, effects);
    if (merged === undefined) return { head: undefined, effects };
    const own = splitAt(merged.fields, filterChains.number);
    const { rest, elements } = splitParts(own.rest, defaultFilterChain.number);
    const joined = joinEncoded(rest);
    const patcher = new ChainPatcher(new LazyListener(merged.name, joined), this.#ofChains, this.#filters);
    return {
      head: {
        name: merged.name,
        fields: joined,
        chains: own.elements,
        replacesChains: merged.replacesChains === true,
        defaultChain: elements.length === 0 ? undefined : joinEncoded(elements),
        patcher,
      },
      effects,
    };
  }
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
