import { query } from "@istiod/incremental";
import { scopeOf, type ScopeRef } from "@istiod/push-context";
import { ResourceSet } from "@istiod/resources";
import { outboundPlans } from "./outbound-decisions.js";
import { outboundListener } from "./outbound-listener.js";
import { outboundPorts } from "./outbound-ports.js";

/** The listeners for what the client's workload sends, port by port. */
export const outboundListeners = query("outboundListeners", (q): ResourceSet => q.call(listenersOfScope, scopeOf(q)));

const listenersOfScope = query(
  "outboundListenersOfScope",
  (q, scope: ScopeRef): ResourceSet => ResourceSet.of(q.call(outboundPorts, scope).flatMap((port) => [...q.call(listenersOfPort, { scope, port })])),
);

const listenersOfPort = query(
  "outboundListenersOfPort",
  (q, at: { readonly scope: ScopeRef; readonly port: number }): ResourceSet => ResourceSet.of(q.call(outboundPlans, at).map((plan) => q.call(outboundListener, plan))),
);
