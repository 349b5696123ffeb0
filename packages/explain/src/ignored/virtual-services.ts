import type { View } from "@istiod/incremental";
import { type Proxy, type ResolvedVirtualService, virtualService } from "@istiod/push-context";
import { shadowedHosts, unreachableRoutes } from "@istiod/xds-generators";
import type { Producer } from "../provenance/producer.js";
import { declarationOfRoutes, declarationsOfRoutes, type DeclaredField, named } from "./declared-objects.js";
import { ignoredConfig, type IgnoredConfig, type ObjectReference } from "./ignored-config.js";

/** Returns VirtualServices whose hosts are shadowed in a sidecar's route configuration. */
export function shadowedVirtualServices(view: View<Proxy>, routeName: string): readonly IgnoredConfig[] {
  if (view.client.type !== "sidecar") return [];
  return view.call(shadowedHosts, routeName).flatMap(({ host, port, shadowedBy, virtualService: key }) => {
    const existing = shadowedBy === undefined ? undefined : declarationOfRoutes(view, shadowedBy, "spec.hosts");
    const cause =
      existing === undefined
        ? "the service's default routes have the same host"
        : `${named(existing)} has the same host and takes precedence`;
    return declarationsOfRoutes(view, key, "spec.hosts").map(({ field, ...object }) => ({
      ...object,
      field,
      ...(existing !== undefined && { overriddenBy: withoutField(existing) }),
      reason: `is ignored for ${host}:${port}: ${cause}`,
    }));
  });
}

/** Returns VirtualServices with a catch-all route that is unreachable at a gateway. */
export function unreachableVirtualServices(view: View<Proxy>, routeName: string): readonly IgnoredConfig[] {
  if (view.client.type !== "router") return [];
  return view.call(unreachableRoutes, routeName).map(({ host, port, shadowedBy, virtualService: key }) => {
    const existing = declarationOfRoutes(view, shadowedBy, "spec.http");
    return {
      ...declarationOfRoutes(view, key, "spec.http"),
      overriddenBy: withoutField(existing),
      reason: `has an unreachable catch-all route for ${host}:${port}: ${named(existing)} has one too and takes precedence`,
    };
  });
}

function withoutField({ field: _field, ...object }: DeclaredField): ObjectReference {
  return object;
}

/** Returns VirtualServices with delegates that could not be merged. */
export function invalidDelegates({ queries }: Producer): readonly IgnoredConfig[] {
  return queries
    .filter(({ definition, outcome }) => definition === virtualService && outcome === "value")
    .flatMap(({ result }) => (result as ResolvedVirtualService | undefined)?.problems ?? [])
    .map(({ object, message }) => ignoredConfig("VirtualService", object, `is partly ignored: ${message}`));
}
