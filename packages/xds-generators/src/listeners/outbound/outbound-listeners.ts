import { query, type QueryContext } from "@istiod/incremental";
import { scopeKey, scopeOf, type ScopeRef } from "@istiod/push-context";
import { ResourceSet } from "@istiod/resources";
import { outboundListener } from "./outbound-listener.js";
import { scopeOutboundPlans } from "./outbound-plans.js";

/**
 * Returns the outbound listeners in two parts: the TCP-only ones, which all workloads of a scope share, and those with
 * HTTP chains, which have tracing.
 */
export function outboundListeners(q: QueryContext): readonly ResourceSet[] {
  const scope = scopeOf(q);
  return [q.call(tcpOnlyListeners, scope), q.call(httpListeners, scope)];
}

const tcpOnlyListeners = query(
  "outboundListenersOfBytes",
  (q, scope: ScopeRef): ResourceSet =>
    ResourceSet.of(q.call(scopeOutboundPlans, scope).tcpOnly.map((plan) => q.call(outboundListener, plan))),
  { key: scopeKey },
);

const httpListeners = query(
  "outboundListenersOfRequests",
  (q, scope: ScopeRef): ResourceSet =>
    ResourceSet.of(q.call(scopeOutboundPlans, scope).withHttp.map((plan) => q.call(outboundListener, plan))),
  { key: scopeKey },
);
