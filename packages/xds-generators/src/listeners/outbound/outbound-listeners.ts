import { query, type QueryContext } from "@istiod/incremental";
import { routeDeclarations, scopeKey, scopeOf, type ScopeRef } from "@istiod/push-context";
import { ResourceSet } from "@istiod/resources";
import { resourcesOf } from "../../attempt.js";
import { listenerName } from "../listener-address.js";
import { outboundListener } from "./outbound-listener.js";
import type { OutboundPlan } from "./outbound-plan.js";
import { scopeOutboundPlans } from "./outbound-plans.js";

/**
 * Returns the outbound listeners in two parts: the TCP-only ones, which all workloads of a scope share, and those with
 * HTTP chains, which have tracing.
 */
export function outboundListeners(q: QueryContext): readonly ResourceSet[] {
  const scope = scopeOf(q);
  const { failures } = q.call(scopeOutboundPlans, scope);
  return [q.call(tcpOnlyListeners, scope), q.call(httpListeners, scope), ResourceSet.of([], failures)];
}

const tcpOnlyListeners = query(
  "outboundListenersOfBytes",
  (q, scope: ScopeRef): ResourceSet => listenersOf(q, q.call(scopeOutboundPlans, scope).tcpOnly),
  { key: scopeKey },
);

const httpListeners = query(
  "outboundListenersOfRequests",
  (q, scope: ScopeRef): ResourceSet => listenersOf(q, q.call(scopeOutboundPlans, scope).withHttp),
  { key: scopeKey },
);

function listenersOf(q: QueryContext, plans: readonly OutboundPlan[]): ResourceSet {
  return resourcesOf(
    plans,
    (plan) => q.call(outboundListener, plan),
    ({ binds, port, chains }) => ({
      name: listenerName(binds[0] ?? "", port),
      objects: [
        ...new Set(
          chains.flatMap((chain) =>
            chain.kind === "tcp" && chain.virtualService !== undefined
              ? q.call(routeDeclarations, chain.virtualService)
              : [],
          ),
        ),
      ],
    }),
  );
}
