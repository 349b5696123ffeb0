import { query, type QueryContext } from "@istiod/incremental";
import { dnsNamespaceServing, proxylessGrpc } from "@istiod/push-context";
import { bracketed, hostPort, serviceDomains, type Domains } from "./domains.js";
import type { PortOfListener } from "./port-services.js";
import { listenerDestinations, type PlannedHost, virtualHostPlan } from "./virtual-host-plan.js";
import type { VirtualHostRequest } from "./virtual-host.js";

/** The virtual hosts of the client's requests to a port, sorted by name, with what finds one by a domain. */
export interface SidecarVirtualHosts {
  readonly hosts: readonly VirtualHostRequest[];
  /** Domain to position in `hosts`. */
  readonly byDomain: Readonly<Record<string, number>>;
}

const http = 80;

/**
 * The virtual hosts of a port with their domains, each domain once whatever its case: the first host that claims it has it, but a short
 * form of a name gives way to a host of that very name. Hosts that are left without a domain are left out.
 */
export const sidecarVirtualHosts = query("sidecarVirtualHosts", (q, at: PortOfListener): SidecarVirtualHosts => {
  const planned = q.call(virtualHostPlan, at).hosts;
  const ownNames = new Set(planned.flatMap(({ service, name, hostname }) => (service === undefined ? [] : [name, hostname])));
  const appendsPorts = at.port === 0 || q.ask(proxylessGrpc);
  const localNamespace = q.ask(dnsNamespaceServing, at.port);
  const taken = new Set<string>();
  const hosts: VirtualHostRequest[] = [];
  for (const host of planned) {
    const { all, expanded } = domainsOf(q, host, at.port, appendsPorts, localNamespace);
    const free = all.filter((domain) => {
      const name = domain.toLowerCase();
      if (taken.has(name) || (expanded.includes(domain) && ownNames.has(domain))) {
        return false;
      }
      taken.add(name);
      return true;
    });
    const kept = at.port === 0 && host.port !== http ? free.filter((domain) => domain.includes(":")) : free;
    if (kept.length > 0) {
      hosts.push(requestFor(q, host, at, kept.length === all.length ? all : kept));
    }
  }
  hosts.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return { hosts, byDomain: Object.fromEntries(hosts.flatMap(({ domains }, i) => domains.map((domain) => [domain, i]))) };
});

function domainsOf(q: QueryContext, host: PlannedHost, listenerPort: number, appendsPorts: boolean, localNamespace: string | undefined): Domains {
  if (host.service === undefined) {
    const named = bracketed(host.hostname);
    return { all: q.ask(proxylessGrpc) ? [named, hostPort(host.hostname, host.port)] : [named], expanded: [] };
  }
  const { service, aliases, hostname } = host.service;
  const isLocal = localNamespace !== undefined && [hostname, ...aliases].some((name) => name.includes(`.${localNamespace}.svc.`));
  return q.call(serviceDomains, {
    service,
    aliases,
    ...(isLocal ? { localNamespace } : {}),
    ...(appendsPorts ? { appendedPort: host.port } : {}),
    ...(listenerPort === 0 ? { anyPort: true as const } : {}),
  });
}

function requestFor(q: QueryContext, { name, hostname, port, service, virtualService }: PlannedHost, at: PortOfListener, domains: readonly string[]): VirtualHostRequest {
  const destinations = virtualService === undefined ? [] : q.call(listenerDestinations, { ...at, virtualService });
  return {
    name,
    domains,
    hostname,
    port,
    listenerPort: at.port,
    ...(service === undefined ? {} : { service: service.service }),
    ...(virtualService === undefined ? {} : { virtualService }),
    ...(destinations.length === 0 ? {} : { destinations }),
  };
}
