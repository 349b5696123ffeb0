import { type KubernetesGatewayObject, kubernetesGateways, listenerSets } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { type ServedClass, servedClass } from "../classes/gateway-classes.js";
import type { ListenerParent } from "../listeners/attachable-listener.js";
import { isAllowedListenerSet } from "../listeners/allowed-listeners.js";
import { type BuiltListener, buildListener } from "../listeners/listener.js";
import { listenerConflict, portOf } from "../listeners/listener-conflicts.js";
import { type GatewayServices, gatewayServices } from "./gateway-services.js";
import { gatewayApiGroup } from "../names.js";

/** A Gateway that istiod serves. */
export interface ServedGateway {
  readonly gateway: KubernetesGatewayObject;
  readonly servedClass: ServedClass;
  readonly services: GatewayServices;
}

/** The Gateway (`namespace/name`); undefined if there is none, or istiod does not serve its class. */
export const servedGateway = query("gatewayApiServedGateway", (q, key: string): ServedGateway | undefined => {
  const gateway = q.read(kubernetesGateways, key);
  const found = gateway && q.call(servedClass, gateway.spec.gatewayClassName);
  return found && { gateway, servedClass: found, services: gatewayServices(q, gateway, found) };
});

/** Reports whether no Service can serve a Gateway, so that its listeners are not built. */
export function isUnserved({ services: { hostnames, fault } }: ServedGateway): boolean {
  return hostnames.length === 0 && fault !== undefined;
}

/** The key of the Gateway that a ListenerSet (`namespace/name`) extends; undefined if istiod does not serve it. */
export const gatewayOfListenerSet = query("gatewayApiGatewayOfListenerSet", (q, key: string): string | undefined => {
  const set = q.read(listenerSets, key);
  if (set === undefined) return undefined;
  const { group = gatewayApiGroup, kind = "Gateway", namespace = set.namespace, name } = set.spec.parentRef;
  const gateway = `${namespace}/${name}`;
  const isGateway = group === gatewayApiGroup && kind === "Gateway";
  return isGateway && q.call(servedGateway, gateway) !== undefined ? gateway : undefined;
});

/**
 * The listeners of a Gateway or ListenerSet in the order of its spec, undefined if there is no such object of a class
 * that istiod serves. None if no Service can serve the Gateway, and for a ListenerSet that the Gateway does not allow.
 */
export const builtListeners = query(
  "gatewayApiBuiltListeners",
  (q, owner: ListenerParent): readonly BuiltListener[] | undefined => {
    const key = `${owner.namespace}/${owner.name}`;
    const gatewayKey = owner.kind === "Gateway" ? key : q.call(gatewayOfListenerSet, key);
    const served = gatewayKey === undefined ? undefined : q.call(servedGateway, gatewayKey);
    if (gatewayKey === undefined || served === undefined) return undefined;
    const { gateway, servedClass: of } = served;
    const object = owner.kind === "Gateway" ? gateway : q.read(listenerSets, key);
    const isAllowed =
      owner.kind === "Gateway" ||
      (of.supportsListenerSets && q.call(isAllowedListenerSet, { gateway: gatewayKey, namespace: owner.namespace }));
    if (object === undefined || !isAllowed || of.role === "remote" || isUnserved(served)) return [];
    return object.spec.listeners.map((listener) =>
      buildListener(q, {
        listener: { ...listener, port: portOf(listener) ?? 0 },
        owner,
        labels: object.labels,
        servedClass: of,
        ofGateway: gateway.spec.tls,
        gatewayNamespace: gateway.namespace,
        conflict: q.call(listenerConflict, { gateway: gatewayKey, owner, name: listener.name }),
      }),
    );
  },
);
