import { query } from "@istiod/incremental";
import {
  fewServers,
  gatewayObject,
  mergedGateway,
  routedServers,
  virtualServicesForGateway,
} from "@istiod/push-context";
import type { ListenerConflict } from "../../listeners/listener-conflicts.js";

/** VirtualServices whose routes the last servers of a Gateway do not have because they would be too many. */
export const routesLeftOut = query("routesLeftOut", (q): readonly ListenerConflict[] => {
  const few = fewServers(q);
  const gateways = (q.call(mergedGateway)?.gatewayNames ?? []).filter(
    (gateway) => (q.call(gatewayObject, gateway)?.spec.servers.length ?? 0) > few,
  );
  return gateways.flatMap((gateway) =>
    q.call(virtualServicesForGateway, gateway).flatMap((virtualService): readonly ListenerConflict[] => {
      const { count, reason } = q.call(routedServers, { gateway, virtualService });
      if (reason === undefined) return [];
      const ignored = { kind: "route", virtualService, field: "spec.http" } as const;
      return [
        { bind: "", ignored, reason: `at servers[${count}] of Gateway ${gateway} and those after it: ${reason}` },
      ];
    }),
  );
});
