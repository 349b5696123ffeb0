import type { View } from "@istiod/incremental";
import { ingressOfGateway, type MergedGateway, mergedGateway, type Proxy } from "@istiod/push-context";
import type { Producer } from "../provenance/producer.js";
import { ignoredConfig, type IgnoredConfig, type ObjectReference, objectReference } from "./ignored-config.js";

/** Returns servers of Gateways that conflict with servers of others. Generated ones are those of their Ingress. */
export function rejectedServers(view: View<Proxy>, { queries }: Producer): readonly IgnoredConfig[] {
  const merged = queries.find(({ definition, outcome }) => definition === mergedGateway && outcome === "value");
  return ((merged?.result as MergedGateway | undefined)?.rejected ?? []).map(
    ({ gateway, index, reason, conflictsWith }) => {
      const { field, ...object } = declaration(view, gateway, index);
      return ignoredConfig(
        object.kind,
        `${object.namespace}/${object.name}`,
        `${field.replace(/^spec\./, "")} is rejected: ${reason}`,
        {
          field,
          ...(conflictsWith && { overriddenBy: declaration(view, conflictsWith.gateway, conflictsWith.index) }),
        },
      );
    },
  );
}

/** Returns the object and the field that declare a server. */
function declaration(view: View<Proxy>, gateway: string, index: number): ObjectReference & { readonly field: string } {
  const ingress = view.call(ingressOfGateway, gateway);
  return ingress === undefined
    ? { ...objectReference("Gateway", gateway), field: `spec.servers[${index}]` }
    : { ...objectReference("Ingress", ingress), field: "spec" };
}
