import type { View } from "@istiod/incremental";
import { type Proxy, type ResolvedVirtualService, virtualService } from "@istiod/push-context";
import { shadowedHosts, unreachableRoutes } from "@istiod/xds-generators";
import type { Producer } from "../provenance/producer.js";
import { ignoredConfig, type IgnoredConfig, objectReference } from "./ignored-config.js";

/** Returns VirtualServices whose hosts are shadowed in a sidecar's route configuration. */
export function shadowedVirtualServices(view: View<Proxy>, routeName: string): readonly IgnoredConfig[] {
  if (view.client.type !== "sidecar") return [];
  return view.call(shadowedHosts, routeName).map(({ host, port, shadowedBy, virtualService }) => {
    const cause =
      shadowedBy === undefined
        ? "the service's default routes have the same host"
        : `VirtualService ${shadowedBy} has the same host and takes precedence`;
    return ignoredConfig("VirtualService", virtualService, `is ignored for ${host}:${port}: ${cause}`, {
      field: "spec.hosts",
      ...(shadowedBy !== undefined && { overriddenBy: objectReference("VirtualService", shadowedBy) }),
    });
  });
}

/** Returns VirtualServices with a catch-all route that is unreachable at a gateway. */
export function unreachableVirtualServices(view: View<Proxy>, routeName: string): readonly IgnoredConfig[] {
  if (view.client.type !== "router") return [];
  return view
    .call(unreachableRoutes, routeName)
    .map(({ host, port, shadowedBy, virtualService }) =>
      ignoredConfig(
        "VirtualService",
        virtualService,
        `has an unreachable catch-all route for ${host}:${port}: VirtualService ${shadowedBy} has one too and takes precedence`,
        { field: "spec.http", overriddenBy: objectReference("VirtualService", shadowedBy) },
      ),
    );
}

/** Returns VirtualServices with delegates that could not be merged. */
export function invalidDelegates({ queries }: Producer): readonly IgnoredConfig[] {
  return queries
    .filter(({ definition, outcome }) => definition === virtualService && outcome === "value")
    .flatMap(({ result }) => (result as ResolvedVirtualService | undefined)?.problems ?? [])
    .map(({ object, message }) => ignoredConfig("VirtualService", object, `is partly ignored: ${message}`));
}
