import {
  type FieldPath,
  gatewayClasses,
  kubernetesGateways,
  listenerSets,
  type ParentReference,
} from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { builtInClasses, controllers } from "../classes/built-in-classes.js";
import { servedClass } from "../classes/gateway-classes.js";
import { attachableListeners } from "../gateways/derived-gateways.js";
import { gatewayOfListenerSet } from "../gateways/gateway-listeners.js";
import { gatewayApiGroup } from "../names.js";
import { parentOf } from "../routes/parent.js";
import { routeBinding, type RouteReference } from "../routes/route.js";
import { routeAttachments } from "../routes/route-attachments.js";
import { features } from "../settings/features.js";

/** A reference of an object because of which istiod has no status for it, with the reason. */
export interface UnservedReference {
  readonly path: FieldPath;
  readonly reason: string;
}

/**
 * The reason for which istiod has no status for a Gateway (`namespace/name`): its class. None if it has one, or if the
 * Gateway belongs to another controller.
 */
export const unservedGateway = query("gatewayApiUnservedGateway", (q, key: string): readonly UnservedReference[] => {
  const gateway = q.read(kubernetesGateways, key);
  const reason = gateway && classReason(q, gateway.spec.gatewayClassName);
  return reason === undefined ? [] : [{ path: ["spec", "gatewayClassName"], reason }];
});

/** The reason for which istiod has no status for a ListenerSet (`namespace/name`): the Gateway that it would extend. */
export const unservedListenerSet = query(
  "gatewayApiUnservedListenerSet",
  (q, key: string): readonly UnservedReference[] => {
    const set = q.read(listenerSets, key);
    if (set === undefined || q.call(gatewayOfListenerSet, key) !== undefined) return [];
    const { group = gatewayApiGroup, kind = "Gateway", namespace = set.namespace, name } = set.spec.parentRef;
    const isGateway = group === gatewayApiGroup && kind === "Gateway";
    const reason = isGateway
      ? gatewayReason(q, `${namespace}/${name}`)
      : `parentRef is of kind ${kind}, and ListenerSets add listeners to Gateways only`;
    return reason === undefined ? [] : [{ path: ["spec", "parentRef"], reason }];
  },
);

/** The reasons for which istiod has no status for a route at a parent, without those of other controllers. */
export const unservedParents = query(
  "gatewayApiUnservedParents",
  (q, route: RouteReference): readonly UnservedReference[] => {
    const binding = q.call(routeBinding, route);
    if (binding === undefined || !features.enabled(q)) return [];
    const served = new Set(q.call(routeAttachments, route).map(({ index }) => index));
    return binding.parentRefs.flatMap((ref, index): readonly UnservedReference[] => {
      if (served.has(index)) return [];
      const parent = parentOf(ref, binding.namespace);
      const reason =
        parent === undefined ? kindReason(ref) : parentReason(q, parent.kind, `${parent.namespace}/${parent.name}`);
      return reason === undefined ? [] : [{ path: ["spec", "parentRefs", index], reason }];
    });
  },
);

function kindReason({ group = gatewayApiGroup, kind = "Gateway" }: ParentReference): string {
  return `routes are not attached to objects of kind ${kind} of group ${JSON.stringify(group)}`;
}

function parentReason(q: QueryContext, kind: string, key: string): string | undefined {
  if (kind === "Gateway") return gatewayReason(q, key) ?? listenersReason(q, kind, key);
  if (kind !== "ListenerSet") return undefined;
  const set = q.read(listenerSets, key);
  if (set === undefined) return `there is no ListenerSet ${key}`;
  if (q.call(gatewayOfListenerSet, key) !== undefined) return listenersReason(q, kind, key);
  return q.call(unservedListenerSet, key).length === 0 ? undefined : `ListenerSet ${key} extends no Gateway of istiod`;
}

/** Returns the reason for which istiod does not serve a Gateway, unless another controller may serve it. */
function gatewayReason(q: QueryContext, key: string): string | undefined {
  const gateway = q.read(kubernetesGateways, key);
  if (gateway === undefined) return `there is no Gateway ${key}`;
  const reason = classReason(q, gateway.spec.gatewayClassName);
  return reason && `Gateway ${key} is not served: ${reason}`;
}

function listenersReason(q: QueryContext, kind: "Gateway" | "ListenerSet", key: string): string | undefined {
  const slash = key.indexOf("/");
  const listeners = q.call(attachableListeners, { kind, namespace: key.slice(0, slash), name: key.slice(slash + 1) });
  return listeners?.length === 0 ? `${kind} ${key} has no listener that a route can be attached to` : undefined;
}

/** Returns the reason for which istiod does not serve a class, unless another controller does. */
function classReason(q: QueryContext, name: string): string | undefined {
  if (!features.enabled(q) || q.call(servedClass, name) !== undefined) return undefined;
  const declared = q.read(gatewayClasses, name)?.spec.controllerName;
  const setting = settingOf(q, declared, name);
  if (setting !== undefined) return `GatewayClass ${name} is served only with ${setting}`;
  return declared === undefined ? `there is no GatewayClass ${name}` : undefined;
}

/** Returns the environment variables that a class of istiod needs; undefined for classes of other controllers. */
function settingOf(q: QueryContext, declared: string | undefined, name: string): string | undefined {
  const names = { controllerName: features.controllerName(q), defaultClass: features.defaultClass(q) };
  const ambient = features.ambient.variable;
  switch (declared ?? builtInClasses(names).find((builtIn) => builtIn.name === name)?.controller) {
    case controllers.remote:
      return features.remoteGateways.variable;
    case controllers.waypoint:
      return `${ambient} and ${features.waypoints.variable}`;
    case controllers.eastWest:
      return `${ambient} and ${features.eastWestGateways.variable}`;
    default:
      return undefined;
  }
}
