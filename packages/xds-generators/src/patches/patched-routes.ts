import { fromBinary } from "@bufbuild/protobuf";
import { mayPatchRoutes, patchRouteConfiguration } from "@istiod/envoy-filter";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import type { QueryContext } from "@istiod/incremental";
import { EnvoyFilter_PatchContext as Context } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { mergedGateway, proxyType } from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import { routePatches } from "./client-patches.js";
import { encodePatched, type Patcher, patcherOf } from "./patcher.js";

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
    const configuration = fromBinary(RouteConfigurationSchema, unpatched.bytes);
    patchRouteConfiguration(configuration, patches, place, effects);
    return effects.changed
      ? encodePatched(RouteConfigurationSchema, unpatched.name, configuration, unpatched)
      : unpatched;
  });
}
