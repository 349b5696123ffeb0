import { query, type QueryContext } from "@istiod/incremental";
import {
  type EgressListener,
  egressListeners,
  listenerKey,
  type ScopedService,
  scopedService,
  scopeKey,
  type ScopeListener,
  type ScopeRef,
  listenerServices,
} from "@istiod/push-context";
import type { Protocol } from "@istiod/service-discovery";

/** A service with a port of an egress listener. */
interface ServiceAtPort {
  readonly scoped: ScopedService;
  readonly port: { readonly number: number; readonly name: string; readonly protocol: Protocol };
}

/** All ports with outbound listeners of a scope, ascending. */
export const outboundPorts = query(
  "outboundPorts",
  (q, scope: ScopeRef): readonly number[] => {
    const ports = new Set<number>();
    for (const [listener, { port }] of q.call(egressListeners, scope).entries()) {
      if (port !== undefined) ports.add(port.number);
      else for (const number of Object.keys(q.call(servicesByPort, { scope, listener }))) ports.add(Number(number));
    }
    return [...ports].sort((a, b) => a - b);
  },
  { key: scopeKey },
);

/** The services of an egress listener with a port, in order. */
export const servicesAtPort = query(
  "servicesAtPort",
  (q, { port, ...at }: ScopeListener & { readonly port: number }): readonly ServiceAtPort[] =>
    q.call(servicesByPort, at)[port] ?? [],
  { key: (at) => `${at.port} ${listenerKey(at)}` },
);

/** Returns the egress listeners of a scope with their indexes. */
export function numberedEgressListeners(
  q: QueryContext,
  scope: ScopeRef,
): readonly { readonly at: ScopeListener; readonly declared: EgressListener }[] {
  return q.call(egressListeners, scope).map((declared, listener) => ({ at: { scope, listener }, declared }));
}

/** Services by port number. An edit of a service affects only the ports that it has or had. */
const servicesByPort = query(
  "servicesByPort",
  (q, at: ScopeListener): Readonly<Record<number, readonly ServiceAtPort[]>> => {
    const out: Record<number, ServiceAtPort[]> = {};
    for (const scoped of q.call(listenerServices, at)) {
      const service = q.call(scopedService, scoped);
      // Aliases have no listeners of their own.
      if (service === undefined || service.resolution === "Alias") continue;
      for (const { number, name, protocol } of service.ports)
        (out[number] ??= []).push({ scoped, port: { number, name, protocol } });
    }
    return out;
  },
  { key: listenerKey },
);
