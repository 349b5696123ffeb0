import { gatewayClasses } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { type StatusCondition, condition } from "../status/conditions.js";
import { servedClass } from "./gateway-classes.js";
import { features } from "../settings/features.js";
import { supportedFeatures } from "./supported-features.js";

export interface GatewayClassStatus {
  readonly conditions: readonly StatusCondition[];
  /** Sorted by name. Absent for classes of gateways that are no ordinary ones. */
  readonly supportedFeatures?: readonly { readonly name: string }[];
}

/** The status of a GatewayClass object; undefined if there is none that istiod serves. */
export const gatewayClassStatus = query("gatewayApiClassStatus", (q, name: string): GatewayClassStatus | undefined => {
  const served = q.read(gatewayClasses, name) && q.call(servedClass, name);
  if (served === undefined) return undefined;
  const conditions = [condition("Accepted", { reason: "Accepted", message: "Handled by Istio controller" })];
  if (served.role !== "gateway") return { conditions };
  return { conditions, supportedFeatures: featuresOf(q).map((feature) => ({ name: feature })) };
});

/** Returns the supported features in the order of the API. One of them is a matter of settings. */
function featuresOf(q: QueryContext): readonly string[] {
  return features.clusterIpMatching(q) ? [...supportedFeatures, "MeshClusterIPMatching"].sort() : supportedFeatures;
}
