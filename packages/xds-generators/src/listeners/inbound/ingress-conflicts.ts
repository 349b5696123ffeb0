import { query } from "@istiod/incremental";
import { ingressListeners, scopeOf } from "@istiod/push-context";
import { listenerName } from "../listener-address.js";
import type { ListenerConflict } from "../listener-conflicts.js";
import { scopeOutboundPlans } from "../outbound/outbound-plans.js";
import { inboundPorts } from "./inbound-ports.js";

/** The ingress listener of the Sidecar at a port, if it is left out because an outbound listener has its address. */
export const ingressConflicts = query("ingressConflicts", (q, port: number): readonly ListenerConflict[] => {
  const inbound = q.call(inboundPorts).find(({ targetPort }) => targetPort === port);
  if (inbound?.sidecar === undefined || !inbound.bindToPort) return [];
  const scope = scopeOf(q);
  const { tcpOnly, withHttp } = q.call(scopeOutboundPlans, scope);
  const [bind = ""] = inbound.binds;
  const isTaken = [...tcpOnly, ...withHttp].some((plan) => plan.port === port && plan.binds[0] === bind);
  if (!isTaken) return [];
  const listener = q.call(ingressListeners, scope).findIndex((declared) => declared.port?.number === port);
  const reason = `an outbound listener has its address, ${listenerName(bind, port)}`;
  return [{ ignored: { kind: "ingress", sidecar: inbound.sidecar, listener }, bind, reason }];
});

/** The ingress listeners of the client's Sidecar that are left out because outbound ones have their addresses. */
export const allIngressConflicts = query("allIngressConflicts", (q): readonly ListenerConflict[] =>
  q.call(inboundPorts).flatMap(({ targetPort }) => q.call(ingressConflicts, targetPort)),
);
