import { mayPatchRoutes, patchEncodedRoutes } from "@istiod/envoy-filter";
import type { QueryContext } from "@istiod/incremental";
import { EnvoyFilter_PatchContext as Context } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { mergedGateway, proxyType } from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import { routePatches } from "./client-patches.js";
import { patchedResource, type Patcher, patcherOf } from "./patcher.js";

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
  return patcherOf(patches, JSON.stringify(place), (unpatched, effects) => {
    if (!mayPatchRoutes(patches, unpatched.name, place)) return unpatched;
    const patched = patchEncodedRoutes(unpatched.bytes, patches, place, effects);
    return effects.changed ? patchedResource(unpatched.name, patched, unpatched) : unpatched;
  });
}
