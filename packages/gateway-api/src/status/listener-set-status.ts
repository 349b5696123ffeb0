import { listenerSets } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { builtListeners, gatewayOfListenerSet, isUnserved, servedGateway } from "../gateways/gateway-listeners.js";
import { isAllowedListenerSet } from "../listeners/allowed-listeners.js";
import type { ListenerParent } from "../listeners/attachable-listener.js";
import { assignedAddresses } from "./assigned-addresses.js";
import { condition, type StatusCondition, type StatusFault } from "./conditions.js";
import { type ListenerStatus, listenerStatuses } from "./listener-status.js";
import { programmedCondition } from "./programmed-condition.js";

/** The status of a ListenerSet, without times and generations. */
export interface ListenerSetStatus {
  readonly conditions: readonly StatusCondition[];
  readonly listeners: readonly ListenerStatus[];
}

const accepted: StatusFault = { reason: "Accepted", message: "Resource accepted" };

/**
 * The status of a ListenerSet (`namespace/name`); undefined if istiod does not serve the Gateway that it extends.
 * Source: pilot/pkg/config/kube/gatewaycommon/conversion.go.
 */
export const listenerSetStatus = query(
  "gatewayApiListenerSetStatus",
  (q, key: string): ListenerSetStatus | undefined => {
    const set = q.read(listenerSets, key);
    const gatewayKey = q.call(gatewayOfListenerSet, key);
    const served = gatewayKey === undefined ? undefined : q.call(servedGateway, gatewayKey);
    if (set === undefined || gatewayKey === undefined || served === undefined) return undefined;
    const { gateway, servedClass, services } = served;
    if (!servedClass.supportsListenerSets)
      return notAllowed(`The "${gateway.spec.gatewayClassName}" GatewayClass does not support ListenerSet`);
    if (!q.call(isAllowedListenerSet, { gateway: gatewayKey, namespace: set.namespace }))
      return notAllowed("The parent Gateway does not allow this reference; check the 'spec.allowedRoutes'");
    const owner: ListenerParent = { kind: "ListenerSet", namespace: set.namespace, name: set.name };
    const listeners = q.call(builtListeners, owner) ?? [];
    const ports = listeners.flatMap(({ server }) => server?.port?.number ?? []);
    const isValid = isUnserved(served) || listeners.some((listener) => listener.isValid);
    const invalid = isValid ? undefined : noneValid;
    const parentFault = services.fault && {
      ...services.fault,
      message: `Parent not accepted: ${services.fault.message}`,
    };
    const addresses = q.call(assignedAddresses, { namespace: gateway.namespace, hostnames: services.hostnames, ports });
    return {
      conditions: [
        condition("Accepted", accepted, parentFault ?? invalid),
        invalid === undefined
          ? programmedCondition(services.hostnames, addresses)
          : condition("Programmed", invalid, invalid),
      ],
      listeners: listenerStatuses(q, owner),
    };
  },
);

const noneValid: StatusFault = {
  reason: "ListenersNotValid",
  message: "None of the ListenerSet's listeners are valid",
};

function notAllowed(message: string): ListenerSetStatus {
  const fault = { reason: "NotAllowed", message };
  return {
    conditions: ["Accepted", "Programmed"].map((type) => condition(type, fault, fault)),
    listeners: [],
  };
}
