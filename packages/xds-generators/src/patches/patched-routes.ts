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

  #piecesOf(unpatched: Resource): readonly RoutesPart[] {
    const parts = partsOf(unpatched) ?? [resourcePart(unpatched.bytes)];
    for (const part of parts) this.#parts.set(part.pieces, part);
    return parts.map(({ pieces }) => pieces);
  }

  #hashed(pieces: RoutesPart): ResourcePart {
    let part = this.#parts.get(pieces);
    if (part === undefined) this.#parts.set(pieces, (part = resourcePart(pieces)));
    return part;
  }
}
