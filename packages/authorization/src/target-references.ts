import { pods } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";

/** A reference of `targetRefs`. */
export interface TargetReference {
  readonly kind: string;
  readonly name: string;
}

/** GatewayClass of waypoints. */
const waypointClass = "istio-waypoint";
const notServed = "waypoints are not served by this istiod, so the policy has no effect through it";

/** Returns the reason why a policy with this reference does not apply to a workload. */
export function reasonOfReference(
  database: Database<Proxy>,
  namespace: string,
  { kind, name }: TargetReference,
): string {
  if (kind === "Service" || kind === "ServiceEntry")
    return `its targetRefs name ${kind} ${name}, which only a waypoint of the ${kind} enforces; ${notServed}`;
  if (kind === "GatewayClass")
    return name === waypointClass
      ? `its targetRefs name GatewayClass ${name}, the waypoints of the mesh; ${notServed}`
      : `its targetRefs name GatewayClass ${name}, and only ${waypointClass} can be named`;
  if (kind === "Gateway") return `its targetRefs name Gateway ${name}, ${reasonOfGateway(database, namespace, name)}`;
  return `its targetRefs name ${kind} ${name}`;
}

/** Tells a waypoint from another gateway by the labels of the Gateway's Pods. */
function reasonOfGateway(database: Database<Proxy>, namespace: string, name: string): string {
  const own = database
    .all(pods)
    .filter((pod) => pod.namespace === namespace && pod.labels["gateway.networking.k8s.io/gateway-name"] === name);
  if (own.some(({ labels }) => labels["gateway.networking.k8s.io/gateway-class-name"] === waypointClass))
    return `a waypoint; ${notServed}`;
  return own.length > 0
    ? "so it applies to the Pods of that Gateway only"
    : "which has no Pods here, so it applies to no proxy; if it is a waypoint, it is not served by this istiod";
}
