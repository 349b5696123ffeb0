import type { View } from "@istiod/incremental";
import { type MergedGateway, mergedGateway, type Proxy } from "@istiod/push-context";
import type { Producer } from "../provenance/producer.js";
import { declarationOfServer } from "./declared-objects.js";
import { ignoredConfig, type IgnoredConfig } from "./ignored-config.js";

/** Returns servers of Gateways that conflict with servers of others, each as part of the object that declares it. */
export function rejectedServers(view: View<Proxy>, { queries }: Producer): readonly IgnoredConfig[] {
  const merged = queries.find(({ definition, outcome }) => definition === mergedGateway && outcome === "value");
  return ((merged?.result as MergedGateway | undefined)?.rejected ?? []).map(
    ({ gateway, index, reason, conflictsWith }) => {
      const { field, ...object } = declarationOfServer(view, gateway, index);
      return ignoredConfig(
        object.kind,
        `${object.namespace}/${object.name}`,
        `${field.replace(/^spec\./, "")} is rejected: ${reason}`,
        {
          field,
          ...(conflictsWith && { overriddenBy: declarationOfServer(view, conflictsWith.gateway, conflictsWith.index) }),
        },
      );
    },
  );
}
