import { query, type QueryContext } from "@istiod/incremental";
import {
  routedHosts,
  scopedService,
  scopeKey,
  type ScopeRef,
  scopeServices,
  serviceInScope,
  visibleAliases,
} from "@istiod/push-context";
import { keyOfId, portNumbered, type Service, service, splitKey } from "@istiod/service-discovery";
import { attempt } from "../../attempt.js";
import { type DestinationTraits, destinationTraits, hasConsistentHash } from "../route/destinations.js";
import { type EgressPort, egressPortKey, type PortService, portServiceIndex } from "./port-services.js";

/**
 * Traits of destinations by host, for an egress listener and port. VirtualServices read this small table instead of the
 * scope's services, so that adding or removing a service does not affect them. Aliases are resolved whatever the port:
 * their target serves it, not the alias.
 */
export const listenerTraits = query(
  "listenerTraits",
  (q, at: EgressPort): Readonly<Record<string, DestinationTraits>> => {
    const known = q.call(portServiceIndex, at);
    const hashed = q.call(hashedHosts, at.scope);
    const aliases = q.call(visibleAliases, at.scope.namespace);
    const out: Record<string, DestinationTraits> = {};
    for (const host of new Set([...Object.keys(known), ...Object.keys(hashed), ...Object.keys(aliases)])) {
      const aliased = aliases[host];
      const found = aliased === undefined ? serviceAtPort(q, known[host], at.port) : serviceOf(q, at.scope, aliased);
      const traits = attempt(
        () => destinationTraits(q, host, at.port, found, hashed[aliased ?? host], aliased),
        [],
        () => ({ name: host, objects: [] }),
      );
      if (traits !== undefined) out[host] = traits;
    }
    return out;
  },
  { key: egressPortKey },
);

/** Returns a service of a listener with its port of this number only; with all ports for 0. */
function serviceAtPort(q: QueryContext, known: PortService | undefined, number: number): Service | undefined {
  const found = known && q.call(service, known.service);
  if (found === undefined || number === 0) return found;
  const port = portNumbered(found, number);
  return { ...found, ports: port === undefined ? [] : [port] };
}

/** Returns the service that a host refers to in a scope, whatever its ports. */
function serviceOf(q: QueryContext, scope: ScopeRef, hostname: string): Service | undefined {
  const scoped = q.call(serviceInScope, { scope, hostname });
  return scoped && q.call(scopedService, scoped);
}

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
      const isHashed = attempt(
        () => q.call(hasConsistentHash, { host, serviceNamespace }),
        [],
        () => ({ name: host, objects: [] }),
      );
      if (isHashed === true) out[host] = serviceNamespace;
    }
    return out;
  },
  { key: scopeKey },
);
