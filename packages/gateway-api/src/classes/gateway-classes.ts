import { gatewayClasses } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { features } from "../settings/features.js";
import { builtInClasses, controllers, type GatewayRole } from "./built-in-classes.js";

/** A GatewayClass whose Gateways istiod serves. */
export interface ServedClass {
  /** Name of the controller, such as `istio.io/gateway-controller`. */
  readonly controller: string;
  readonly role: GatewayRole;
  /** ListenerSets can add listeners to Gateways of the class. */
  readonly supportsListenerSets: boolean;
  /** The resources of a Gateway have its name, without the name of the class as suffix. */
  readonly hasPlainNames: boolean;
  /** Type of the addresses that a status reports while there are no external ones. Undefined: both types. */
  readonly addressType?: "Hostname" | "IPAddress";
}

/**
 * The class with a name: that of the GatewayClass object, or a built-in one, which needs no object; undefined if its
 * controller is not istiod. Source: pilot/pkg/config/kube/gatewaycommon/classinfo.go.
 */
export const servedClass = query("gatewayApiServedClass", (q, name: string): ServedClass | undefined => {
  if (!features.enabled(q)) return undefined;
  const declared = q.read(gatewayClasses, name);
  if (declared !== undefined) return classOf(q, declared.spec.controllerName);
  const names = { controllerName: features.controllerName(q), defaultClass: features.defaultClass(q) };
  return classOf(q, builtInClasses(names).find((builtIn) => builtIn.name === name)?.controller);
});

function classOf(q: QueryContext, controller: string | undefined): ServedClass | undefined {
  switch (controller) {
    case undefined:
      return undefined;
    case features.controllerName(q):
      return {
        controller,
        role: "gateway",
        supportsListenerSets: true,
        hasPlainNames: false,
        addressType: "Hostname",
      };
    case controllers.remote:
      return features.remoteGateways(q)
        ? { controller, role: "remote", supportsListenerSets: false, hasPlainNames: false, addressType: "Hostname" }
        : undefined;
    case controllers.waypoint:
      return features.waypoints(q)
        ? { controller, role: "waypoint", supportsListenerSets: false, hasPlainNames: true }
        : undefined;
    case controllers.eastWest:
      return features.eastWestGateways(q)
        ? { controller, role: "east-west", supportsListenerSets: false, hasPlainNames: true }
        : undefined;
    default:
      return undefined;
  }
}
