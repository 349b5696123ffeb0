import { type MergedGateway, mergedGateway } from "@istiod/push-context";
import type { Producer } from "../provenance/producer.js";
import { ignoredConfig, type IgnoredConfig, objectReference } from "./ignored-config.js";

/** Returns servers of Gateways that conflict with servers of others. */
export function rejectedServers({ queries }: Producer): readonly IgnoredConfig[] {
  const merged = queries.find(({ definition, outcome }) => definition === mergedGateway && outcome === "value");
  return ((merged?.result as MergedGateway | undefined)?.refused ?? []).map(({ gateway, index, reason, winner }) =>
    ignoredConfig("Gateway", gateway, `servers[${index}] is rejected: ${reason}`, {
      field: `spec.servers[${index}]`,
      ...(winner && {
        overriddenBy: { ...objectReference("Gateway", winner.gateway), field: `spec.servers[${winner.index}]` },
      }),
    }),
  );
}
