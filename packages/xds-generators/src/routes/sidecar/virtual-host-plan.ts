import { query, type QueryContext } from "@istiod/incremental";
import {
  hostsMeet,
  inNamespace,
  isWildcard,
  meshGateway,
  mostSpecificVirtualService,
  type VirtualServiceHeader,
  virtualServiceHeader,
  virtualServicesOf,
} from "@istiod/push-context";
import { hostPort } from "../domains.js";
import { hasRoutes } from "../route/virtual-service-routes.js";
import { type EgressPort, egressPortKey, type PortService, portServices } from "./port-services.js";

/** A virtual host that is to be made. */
export interface PlannedHost {
  readonly name: string;
  readonly hostname: string;
  readonly port: number;
  /** The service whose names and addresses it has; absent: a host that only a VirtualService knows. */
  readonly service?: PortService;
  /** The VirtualService that routes it; absent: the service's default route. */
  readonly virtualService?: string;
}

/** A host for which two VirtualServices apply, so that one does nothing. */
export interface ShadowedHost {
  readonly host: string;
  readonly port: number;
  /** The VirtualService that applies, the older one; absent: the routes of the service itself. */
  readonly shadowedBy?: string;
  readonly virtualService: string;
}

interface VirtualHostPlan {
  readonly hosts: readonly PlannedHost[];
  readonly shadowed: readonly ShadowedHost[];
  /** Names of hosts that were wanted again. */
  readonly duplicates: readonly string[];
}

/** Requests to this port of a host that no service has are routed nevertheless. */
const defaultHttpPort = 80;

/**
 * Which virtual hosts the client's requests to a port have, those of VirtualServices first and then one for each other service
 * (pilot/pkg/networking/core/route/route.go, BuildSidecarVirtualHostWrapper).
 */
export const virtualHostPlan = query(
  "virtualHostPlan",
  (q, at: EgressPort): VirtualHostPlan => {
    const remaining = new Map(q.call(portServices, at).map((found) => [found.hostname, found]));
    const wildcards = [...remaining.keys()].filter(isWildcard);
    const plan = new PlanBuilder();
    const routed: PortService[] = [];
    for (const key of q.call(virtualServicesOf, { scope: at.scope, listener: at.listener })) {
      const header = q.call(virtualServiceHeader, key);
      if (
        header === undefined ||
        !appliesToPort(header, remaining, wildcards, at.port) ||
        !q.call(hasRoutes, { virtualService: key, port: at.port, gateway: meshGateway })
      ) {
        continue;
      }
      const { services, others } = matchHosts(q, header, remaining, at);
      if (
        header.semantics === "gateway-api" &&
        !services.some((found) => found.namespace === header.namespace) &&
        !q.ask(inNamespace, header.namespace)
      ) {
        continue;
      }
      const ports = new Set(services.flatMap(({ httpPorts }) => httpPorts));
      if (ports.size === 0 && at.port === defaultHttpPort) {
        ports.add(defaultHttpPort);
      }
      for (const port of ports) {
        const served = services.filter(({ httpPorts }) => httpPorts.includes(port));
        others.forEach((host) => plan.add({ hostname: host.toLowerCase(), port, virtualService: key }));
        served.forEach((found) => plan.add({ hostname: found.hostname, port, service: found, virtualService: key }));
        routed.push(...served);
      }
    }
    routed.forEach(({ hostname }) => remaining.delete(hostname));
    for (const found of remaining.values()) {
      for (const port of found.isAlias ? [] : found.httpPorts) {
        plan.add({ hostname: found.hostname, port, service: found });
      }
    }
    return { hosts: plan.hosts, shadowed: plan.shadowed, duplicates: [...plan.duplicates] };
  },
  { key: egressPortKey },
);

/** Virtual hosts by name: of two with one name, the second is left out. */
class PlanBuilder {
  readonly #byName = new Map<string, PlannedHost>();
  readonly shadowed: ShadowedHost[] = [];
  readonly duplicates = new Set<string>();

  get hosts(): readonly PlannedHost[] {
    return [...this.#byName.values()];
  }

  add(host: Omit<PlannedHost, "name">): void {
    const name = hostPort(host.hostname, host.port);
    const other = this.#byName.get(name);
    if (other === undefined) {
      this.#byName.set(name, { name, ...host });
      return;
    }
    this.duplicates.add(name);
    if (host.virtualService !== undefined && host.virtualService !== other.virtualService) {
      const shadowedBy = other.virtualService === undefined ? {} : { shadowedBy: other.virtualService };
      this.shadowed.push({ host: host.hostname, port: host.port, ...shadowedBy, virtualService: host.virtualService });
    }
  }
}

/** Whether any of a VirtualService's hosts is one of the services'; at port 80 it counts even if none is. */
function appliesToPort(
  { hosts }: VirtualServiceHeader,
  services: ReadonlyMap<string, PortService>,
  wildcards: readonly string[],
  port: number,
): boolean {
  if (port === defaultHttpPort) {
    return true;
  }
  return hosts.some((host) => {
    const name = host.toLowerCase();
    return (
      services.has(name) ||
      (isWildcard(name) ? [...services.keys()] : wildcards).some((other) => hostsMeet(name, other))
    );
  });
}

/** The services that a VirtualService's hosts are, and its hosts that are no service's. A wildcard has the services for which nothing narrower is said. */
function matchHosts(
  q: QueryContext,
  { key, hosts, semantics }: VirtualServiceHeader,
  services: ReadonlyMap<string, PortService>,
  at: EgressPort,
): { readonly services: readonly PortService[]; readonly others: readonly string[] } {
  const matched: PortService[] = [];
  const others: string[] = [];
  for (const host of hosts.filter((candidate) => !isWildcard(candidate))) {
    const found = services.get(host.toLowerCase());
    if (found === undefined) {
      others.push(host);
    } else {
      matched.push(found);
    }
  }
  for (const host of hosts.filter(isWildcard).map((wildcard) => wildcard.toLowerCase())) {
    const covered =
      semantics === "gateway-api" ? [] : [...services.values()].filter(({ hostname }) => hostsMeet(hostname, host));
    if (covered.length === 0) {
      others.push(host);
    }
    matched.push(
      ...covered.filter(
        ({ hostname }) =>
          q.call(mostSpecificVirtualService, { scope: at.scope, listener: at.listener, hostname }) === key,
      ),
    );
  }
  return { services: matched, others };
}
