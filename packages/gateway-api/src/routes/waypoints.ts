import {
  configCluster,
  gatewayClasses,
  kubernetesGateways,
  namespaces,
  serviceEntries,
  services,
} from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { controllers } from "../classes/built-in-classes.js";
import { features } from "../settings/features.js";
import type { RouteParent } from "./parent.js";

type Labels = Readonly<Record<string, string>>;

const waypointLabel = "istio.io/use-waypoint";
const waypointNamespaceLabel = "istio.io/use-waypoint-namespace";

/** The labels of a Service or ServiceEntry of the config cluster; undefined if it does not exist. */
export const meshParentLabels = query(
  "gatewayApiMeshParentLabels",
  (q, { kind, namespace, name }: RouteParent): Labels | undefined =>
    kind === "ServiceEntry"
      ? q.read(serviceEntries, `${namespace}/${name}`)?.labels
      : q.read(services, `${configCluster(q)}/${namespace}/${name}`)?.labels,
);

/** Reports whether labels name a waypoint. */
function namesWaypoint(labels: Labels): boolean {
  const name = labels[waypointLabel] ?? "";
  return name !== "" && name.toLowerCase() !== "none";
}

function namespaceLabels(q: QueryContext, namespace: string): Labels | undefined {
  return q.read(namespaces, `${configCluster(q)}/${namespace}`)?.labels;
}

/** Reports whether a Service or ServiceEntry that exists has no waypoint, by its labels and those of its namespace. */
export function lacksWaypoint(q: QueryContext, { namespace }: RouteParent, labels: Labels): boolean {
  if (namesWaypoint(labels)) return false;
  const inherited = namespaceLabels(q, namespace);
  return inherited !== undefined && !namesWaypoint(inherited);
}

/**
 * Reports whether the waypoint of a Service or ServiceEntry is a Gateway of another controller, which then serves the
 * routes of that parent.
 */
export const hasForeignWaypoint = query("gatewayApiHasForeignWaypoint", (q, parent: RouteParent): boolean => {
  const own = q.call(meshParentLabels, parent);
  if (own === undefined) return false;
  const labels = Object.hasOwn(own, waypointLabel) ? own : namespaceLabels(q, parent.namespace);
  if (labels === undefined || !namesWaypoint(labels)) return false;
  const namespace = labels[waypointNamespaceLabel] || parent.namespace;
  const waypoint = q.read(kubernetesGateways, `${namespace}/${labels[waypointLabel]}`);
  const gatewayClass = waypoint && q.read(gatewayClasses, waypoint.spec.gatewayClassName);
  if (gatewayClass === undefined) return false;
  const served: readonly string[] = [controllers.waypoint, features.controllerName(q)];
  return !served.includes(gatewayClass.spec.controllerName);
});
