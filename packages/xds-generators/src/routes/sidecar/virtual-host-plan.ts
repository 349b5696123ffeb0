import { query, type QueryContext } from "@istiod/incremental";
import {
  hostsOverlap,
  inNamespace,
  isWildcard,
  meshGateway,
  mostSpecificVirtualService,
  type VirtualServiceHeader,
  virtualServiceHeader,
  listenerVirtualServices,
} from "@istiod/push-context";
import { hostPort } from "../domains.js";
import { hasRoutes } from "../route/virtual-service-routes.js";
import { type EgressPort, egressPortKey, type PortService, portServices } from "./port-services.js";

/** A planned virtual host. */
export interface PlannedHost {
  readonly name: string;
  readonly hostname: string;
  readonly port: number;
  /** The service whose names and addresses it has; absent: a host known only from a VirtualService. */
  readonly service?: PortService;
  /** The VirtualService that routes it; absent: the service's default route. */
  readonly virtualService?: string;
}

/** A host for which a VirtualService is ignored because another one applies. */
export interface ShadowedHost {
  readonly host: string;
  readonly port: number;
  /** The older VirtualService that applies; absent: the service's own routes. */
  readonly shadowedBy?: string;
  readonly virtualService: string;
}

interface VirtualHostPlan {
  readonly hosts: readonly PlannedHost[];
  readonly shadowed: readonly ShadowedHost[];
  /** Names of hosts that are defined again. */
  readonly duplicates: readonly string[];
}

/** The port at which hosts without a service are routed too. */
const defaultHttpPort = 80;

/**
 * The virtual hosts of a port: those of VirtualServices first, then one for each other service.
 * Source: pilot/pkg/networking/core/route/route.go, BuildSidecarVirtualHostWrapper.
 */
export const virtualHostPlan = query(
  "virtualHostPlan",
  (q, at: EgressPort): VirtualHostPlan => {
    const remaining = new Map(q.call(portServices, at).map((found) => [found.hostname, found]));
    const wildcards = [...remaining.keys()].filter(isWildcard);
    const plan = new PlanBuilder();
    const routed: PortService[] = [];
    for (const key of q.call(listenerVirtualServices, { scope: at.scope, listener: at.listener })) {
      const header = q.call(virtualServiceHeader, key);
      if (
        header === undefined ||
        !appliesToPort(header, remaining, wildcards, at.port) ||
        !q.call(hasRoutes, { virtualService: key, port: at.port, gateway: meshGateway })
      ) {
        continue;
      }
      const { services, others } = matchHosts(q, header, remaining, at);
      if (header.semantics === "gateway-api" && !isRoutedByGatewayApi(q, header, services)) continue;
      const ports = new Set(services.flatMap(({ httpPorts }) => httpPorts));
      if (ports.size === 0 && at.port === defaultHttpPort) {
        ports.add(defaultHttpPort);
      }
      for (const port of ports) {
        const served = services.filter(({ httpPorts }) => httpPorts.includes(port));
        others.forEach((host) => plan.add({ hostname: host.toLowerCase(), port, virtualService: key }));
        for (const found of served) {
          plan.add({ hostname: found.hostname, port, service: found, virtualService: key });
          routed.push(found);
        }
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

/**
 * Reports whether a client applies a route of the Gateway API: to services of the route's namespace, and in that
 * namespace to all. Hosts without a service, such as wildcards, are not routed.
 */
function isRoutedByGatewayApi(
  q: QueryContext,
  { namespace }: VirtualServiceHeader,
  services: readonly PortService[],
): boolean {
  if (services.some((found) => found.namespace === namespace)) return true;
  return services.length > 0 && q.ask(inNamespace, namespace);
}

/** Collects virtual hosts by name. Of two with one name, the second is ignored. */
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

/** Reports whether any host of a VirtualService matches a service of the port; at port 80 this is not required. */
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
      (isWildcard(name) ? [...services.keys()] : wildcards).some((other) => hostsOverlap(name, other))
    );
  });
}

/**
 * Returns the services that match a VirtualService's hosts, and the hosts without a service. A wildcard matches
 * services without a more specific VirtualService.
 */
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
      semantics === "gateway-api" ? [] : [...services.values()].filter(({ hostname }) => hostsOverlap(hostname, host));
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
