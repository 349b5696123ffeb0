import { query, type QueryContext } from "@istiod/incremental";
import { scopeKey, scopeOf, type ScopeRef } from "@istiod/push-context";
import { ResourceSet } from "@istiod/resources";
import { outboundPlansOfScope } from "./outbound-plans.js";
import { outboundListener } from "./outbound-listener.js";

/** The listeners for what the client's workload sends: a set that all workloads of a scope share, and one with what they trace. */
export function outboundListeners(q: QueryContext): readonly ResourceSet[] {
  const scope = scopeOf(q);
  return [q.call(listenersOfBytes, scope), q.call(listenersOfRequests, scope)];
}

const listenersOfBytes = query(
  "outboundListenersOfBytes",
  (q, scope: ScopeRef): ResourceSet =>
    ResourceSet.of(q.call(outboundPlansOfScope, scope).ofBytes.map((plan) => q.call(outboundListener, plan))),
  { key: scopeKey },
);

const listenersOfRequests = query(
  "outboundListenersOfRequests",
  (q, scope: ScopeRef): ResourceSet =>
    ResourceSet.of(q.call(outboundPlansOfScope, scope).ofRequests.map((plan) => q.call(outboundListener, plan))),
  { key: scopeKey },
);
