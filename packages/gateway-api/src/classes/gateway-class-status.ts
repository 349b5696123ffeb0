import { gatewayClasses } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { type StatusCondition, condition } from "../status/conditions.js";
import { servedClass } from "./gateway-classes.js";

export interface GatewayClassStatus {
  readonly conditions: readonly StatusCondition[];
}

/** The status of a GatewayClass object; undefined if there is none that istiod serves. */
export const gatewayClassStatus = query("gatewayApiClassStatus", (q, name: string): GatewayClassStatus | undefined =>
  q.read(gatewayClasses, name) === undefined || q.call(servedClass, name) === undefined
    ? undefined
    : { conditions: [condition("Accepted", { reason: "Accepted", message: "Handled by Istio controller" })] },
);
