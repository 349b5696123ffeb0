import { type MergedGateway, mergedGateway } from "@istiod/push-context";
import type { Maker } from "../maker.js";
import { type Loss, loss, named } from "./loss.js";

/** Servers of Gateways that conflict with those of others. */
export function refusedServers({ queries }: Maker): readonly Loss[] {
  const merged = queries.find(({ definition, outcome }) => definition === mergedGateway && outcome === "value");
  return ((merged?.result as MergedGateway | undefined)?.refused ?? []).map(({ gateway, index, reason, winner }) =>
    loss("Gateway", gateway, `servers[${index}] is refused: ${reason}`, {
      field: `spec.servers[${index}]`,
      ...(winner && { winner: { ...named("Gateway", winner.gateway), field: `spec.servers[${winner.index}]` } }),
    }),
  );
}
