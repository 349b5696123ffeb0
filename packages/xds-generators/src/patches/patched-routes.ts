import {
  type Effects,
  type Patches,
  type RoutePlace,
  routePatchesOf,
  type RoutesPart,
  RoutesPatcher,
} from "@istiod/envoy-filter";
import type { QueryContext } from "@istiod/incremental";
import { EnvoyFilter_PatchContext as Context } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { joinEncoded } from "@istiod/protobuf-wire";
import { mergedGateway, proxyType } from "@istiod/push-context";
import { partsOf, type Resource, resourceOfParts, type ResourcePart, resourcePart } from "@istiod/resources";
import { routePatches } from "./client-patches.js";
import { type Patcher, patcherOf, withOriginal } from "./patcher.js";

/** Returns a route configuration with the client's patches. A patch cannot rename or remove it. */
export function patchRoutes(q: QueryContext, configuration: Resource): Resource {
  return routePatcher(q)?.patched(configuration).resource ?? configuration;
}

/** Returns what patches the client's route configurations; undefined if nothing does. */
export function routePatcher(q: QueryContext): Patcher | undefined {
  const context = q.ask(proxyType) === "router" ? Context.GATEWAY : Context.SIDECAR_OUTBOUND;
  const patches = q.call(routePatches, context);
  if (patches === undefined) return undefined;
  const gatewayPorts = context === Context.GATEWAY ? q.call(mergedGateway)?.portMap : undefined;
  const place = { context, gatewayPorts };
  return patcherOf(patches, JSON.stringify(place), () => {
    const patching = new RoutePatching(patches, place);
    return (unpatched, effects) => patching.patch(unpatched, effects);
  });
}

/** Patches route configurations part by part: an unchanged part is neither patched nor hashed again. */
class RoutePatching {
  readonly #patches: Patches;
  readonly #place: RoutePlace;
  /** By the patches that match the configuration's name. */
  readonly #patchers = new Map<string, RoutesPatcher>();
  readonly #parts = new WeakMap<RoutesPart, ResourcePart>();
  /** Parts that continue a field, joined, by the first one. */
  readonly #runs = new WeakMap<
    ResourcePart,
    { readonly others: readonly ResourcePart[]; readonly pieces: RoutesPart }
  >();

  constructor(patches: Patches, place: RoutePlace) {
    this.#patches = patches;
    this.#place = place;
  }

  patch(unpatched: Resource, effects: Effects): Resource {
    const matching = routePatchesOf(this.#patches, unpatched.name, this.#place);
    if (matching === undefined) return unpatched;
    const { ofConfiguration, ofHosts, ofRoutes } = matching;
    const key = JSON.stringify([ofConfiguration, ofHosts, ofRoutes].map((patches) => patches.map(({ id }) => id)));
    let patcher = this.#patchers.get(key);
    if (patcher === undefined) this.#patchers.set(key, (patcher = new RoutesPatcher(matching)));
    const patched = patcher.patch(this.#piecesOf(unpatched), effects);
    if (!effects.changed) return unpatched;
    return withOriginal(
      resourceOfParts(
        unpatched.name,
        patched.map((part) => this.#hashed(part)),
      ),
      unpatched,
    );
  }

  /** Returns the parts of a configuration, of which those of one field are joined: a piece has whole fields. */
  #piecesOf(unpatched: Resource): readonly RoutesPart[] {
    const pieces: RoutesPart[] = [];
    const all = partsOf(unpatched) ?? [resourcePart(unpatched.bytes)];
    for (let from = 0, to = 1; from < all.length; from = to, to = from + 1) {
      while (all[to]?.continues === true) to++;
      const [first, ...others] = all.slice(from, to);
      if (first === undefined) break;
      pieces.push(others.length === 0 ? first.pieces : this.#joined(first, others));
      if (others.length === 0) this.#parts.set(first.pieces, first);
    }
    return pieces;
  }

  /** Returns parts as one piece: the same one while they are the same. */
  #joined(first: ResourcePart, others: readonly ResourcePart[]): RoutesPart {
    const known = this.#runs.get(first);
    if (known?.others.length === others.length && known.others.every((part, i) => part === others[i]))
      return known.pieces;
    const pieces = [joinEncoded([first, ...others].flatMap((part) => part.pieces))];
    this.#runs.set(first, { others, pieces });
    return pieces;
  }

  #hashed(pieces: RoutesPart): ResourcePart {
    let part = this.#parts.get(pieces);
    if (part === undefined) this.#parts.set(pieces, (part = resourcePart(pieces)));
    return part;
  }
}
