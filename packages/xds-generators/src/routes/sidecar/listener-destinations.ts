import { query } from "@istiod/incremental";
import { routedHosts, scopeKey, type ScopeRef, scopeServices } from "@istiod/push-context";
import { keyOfId, portNumbered, service, splitKey } from "@istiod/service-discovery";
import { type DestinationTraits, destinationTraits, hasConsistentHash } from "../route/destinations.js";
import { type EgressPort, egressPortKey, portServiceIndex } from "./port-services.js";

/**
 * Traits of destinations by host, for an egress listener and port. VirtualServices read this small table instead of the
 * scope's services, so that adding or removing a service does not affect them.
 */
export const listenerTraits = query(
  "listenerTraits",
  (q, at: EgressPort): Readonly<Record<string, DestinationTraits>> => {
    const known = q.call(portServiceIndex, at);
    const hashed = q.call(hashedHosts, at.scope);
    const out: Record<string, DestinationTraits> = {};
    for (const host of new Set([...Object.keys(known), ...Object.keys(hashed)])) {
      const id = known[host]?.service;
      const found = id === undefined ? undefined : q.call(service, id);
      const atPort =
        found &&
        (at.port === 0
          ? found
          : { ...found, ports: [portNumbered(found, at.port)].filter((port) => port !== undefined) });
      const traits = destinationTraits(q, host, at.port, atPort, hashed[host]);
      if (traits !== undefined) out[host] = traits;
    }
    return out;
  },
  { key: egressPortKey },
);

/** The traits of a VirtualService's destinations, for an egress listener and port. */
export const listenerDestinations = query(
  "listenerDestinations",
  (q, { virtualService, ...at }: EgressPort & { readonly virtualService: string }): readonly DestinationTraits[] => {
    const traits = q.call(listenerTraits, at);
    return q.call(routedHosts, { virtualService }).flatMap(({ host }) => traits[host] ?? []);
  },
  { key: (at) => `${at.virtualService} ${egressPortKey(at)}` },
);

/** The hosts of a scope with a consistent hash, with the namespaces of their services. */
const hashedHosts = query(
  "hashedHosts",
  (q, scope: ScopeRef): Readonly<Record<string, string>> => {
    const out: Record<string, string> = {};
    for (const { service: id, hostname: host } of q.call(scopeServices, scope)) {
      const [serviceNamespace] = splitKey(keyOfId(id));
      if (q.call(hasConsistentHash, { host, serviceNamespace })) out[host] = serviceNamespace;
    }
    return out;
  },
  { key: scopeKey },
);
