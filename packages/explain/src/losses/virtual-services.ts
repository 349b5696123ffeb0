import type { View } from "@istiod/incremental";
import { type Proxy, type ResolvedVirtualService, virtualService } from "@istiod/push-context";
import { shadowedHosts, unreachableRoutes } from "@istiod/xds-generators";
import type { Maker } from "../maker.js";
import { type Loss, loss, named } from "./loss.js";

/** VirtualServices that a sidecar's route configuration has no routes of, because other routes have their hosts. */
export function shadowedVirtualServices(view: View<Proxy>, routeName: string): readonly Loss[] {
  if (view.client.type !== "sidecar") return [];
  return view.call(shadowedHosts, routeName).map(({ host, port, shadowedBy, virtualService }) =>
    loss(
      "VirtualService",
      virtualService,
      `does not route ${host}:${port}: ${shadowedBy === undefined ? "the service's own routes have that host" : `VirtualService ${shadowedBy}, which comes first, has that host`}`,
      {
        field: "spec.hosts",
        ...(shadowedBy !== undefined && { winner: named("VirtualService", shadowedBy) }),
      },
    ),
  );
}

/** VirtualServices with a route at a gateway that is never reached. */
export function hiddenVirtualServices(view: View<Proxy>, routeName: string): readonly Loss[] {
  if (view.client.type !== "router") return [];
  return view.call(unreachableRoutes, routeName).map(({ host, port, shadowedBy, virtualService }) =>
    loss(
      "VirtualService",
      virtualService,
      `has a route for every request of ${host}:${port} that is never reached: VirtualService ${shadowedBy}, which comes first, has one too`,
      {
        field: "spec.http",
        winner: named("VirtualService", shadowedBy),
      },
    ),
  );
}

/** Delegates that could not be included. */
export function delegateProblems({ queries }: Maker): readonly Loss[] {
  return queries
    .filter(({ definition, outcome }) => definition === virtualService && outcome === "value")
    .flatMap(({ result }) => (result as ResolvedVirtualService | undefined)?.problems ?? [])
    .map(({ object, message }) => loss("VirtualService", object, `is left out in part: ${message}`));
}
