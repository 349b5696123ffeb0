import { type MergedGateway, mergedGateway } from "@istiod/push-context";
import type { Producer } from "../provenance/producer.js";
import { ignoredConfig, type IgnoredConfig, objectReference } from "./ignored-config.js";

/** Returns servers of Gateways that conflict with servers of others. */
export function rejectedServers({ queries }: Producer): readonly IgnoredConfig[] {
  const merged = queries.find(({ definition, outcome }) => definition === mergedGateway && outcome === "value");
  return ((merged?.result as MergedGateway | undefined)?.rejected ?? []).map(
    ({ gateway, index, reason, conflictsWith }) =>
      ignoredConfig("Gateway", gateway, `servers[${index}] is rejected: ${reason}`, {
        field: `spec.servers[${index}]`,
        ...(conflictsWith && {
          overriddenBy: {
            ...objectReference("Gateway", conflictsWith.gateway),
            field: `spec.servers[${conflictsWith.index}]`,
          },
        }),
      }),
  );
}
