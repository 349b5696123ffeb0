import { query, type QueryContext, structurallyEqual } from "@istiod/incremental";
import { proxylessGrpc, type ScopeRef } from "@istiod/push-context";
import { bracketed, type Domains, hostPort, serviceDomains } from "../domains.js";
import type { DestinationTraits } from "../route/destinations.js";
import type { VirtualHostRequest } from "../virtual-host.js";
import { listenerDestinations, listenerTraits } from "./listener-destinations.js";
import { type EgressPort, egressPortKey, type PortService } from "./port-services.js";
import { chunkHosts, replaceHosts, type VirtualHostChunk } from "./virtual-host-chunks.js";
import { type PlannedHost, virtualHostPlan } from "./virtual-host-plan.js";

/** The virtual hosts of which egress listener and port, for clients of which namespace. */
interface SidecarPort extends EgressPort {
  /** The namespace in the client's DNS domain, where a service of it has the port. */
  readonly localNamespace?: string | undefined;
}

/** The virtual hosts of a port. */
export interface SidecarVirtualHosts {
  /** All of them, sorted by name. */
  readonly chunks: readonly VirtualHostChunk[];
  /** Domains that a short form of a service's name could be taken for, sorted. */
  readonly singleLabelDomains: readonly string[];
  /** Names of hosts that lost a domain to another. */
  readonly hostsWithLostDomains: readonly string[];
}

/**
 * The virtual hosts of a port with their domains, each domain once whatever its case: the first host that claims it has it, but a short
 * form of a name gives way to a host of that very name. Hosts that are left without a domain are left out.
 *
 * From within a namespace, its services have one more name each. Unless another host has that name already, everything else is as it is
 * for all other clients, and is taken from there.
 */
export const sidecarVirtualHosts = query(
  "sidecarVirtualHosts",
  (q, { localNamespace, ...at }: SidecarPort): SidecarVirtualHosts => {
    if (localNamespace === undefined || hasSingleNamespace(at.scope)) {
      return q.call(buildVirtualHosts, { ...at, localNamespace });
    }
    const elsewhere = q.call(buildVirtualHosts, at);
    const moved = q
      .call(virtualHostPlan, at)
      .hosts.filter(({ service }) => service !== undefined && isLocal(service, localNamespace))
      .map((host) => ({
        name: host.name,
        there: domainsOf(q, host, at.port, undefined).all,
        here: domainsOf(q, host, at.port, localNamespace).all,
      }));
    const added = moved
      .flatMap(({ there, here }) => here.filter((domain) => !there.includes(domain)))
      .map((domain) => domain.toLowerCase());
    const unclaimed =
      new Set(added).size === added.length &&
      added.every((domain) => !domain.includes(".") && !elsewhere.singleLabelDomains.includes(domain));
    const chunks =
      appendsPorts(q, at.port) || !unclaimed
        ? undefined
        : replaceHosts(elsewhere.chunks, new Map(moved.map((host) => [host.name, host])), withLocalDomains);
    return chunks === undefined ? q.call(buildVirtualHosts, { ...at, localNamespace }) : { ...elsewhere, chunks };
  },
  { key: sidecarKey, equals: sameHosts },
);

/** Keys of chunks tell as much as the thousands of hosts in them. */
function sameHosts(a: SidecarVirtualHosts, b: SidecarVirtualHosts): boolean {
  return (
    a.chunks.length === b.chunks.length &&
    a.chunks.every(({ key }, i) => key === b.chunks[i]?.key) &&
    structurallyEqual([a.singleLabelDomains, a.hostsWithLostDomains], [b.singleLabelDomains, b.hostsWithLostDomains])
  );
}

function sidecarKey(at: SidecarPort): string {
  return `${at.localNamespace ?? ""} ${egressPortKey(at)}`;
}

/** Whether only clients of one namespace have a scope, so that nobody would share what is as it is elsewhere. */
function hasSingleNamespace({ sidecar, namespace }: ScopeRef): boolean {
  return sidecar !== undefined && namespace !== undefined;
}

/** The same, without anything taken from elsewhere. */
export const buildVirtualHosts = query(
  "buildVirtualHosts",
  (q, { localNamespace, ...at }: SidecarPort): SidecarVirtualHosts => {
    const planned = q.call(virtualHostPlan, at).hosts;
    const ownNames = new Set(
      planned.flatMap(({ service, name, hostname }) => (service === undefined ? [] : [name, hostname])),
    );
    const taken = new Set<string>();
    const hosts: VirtualHostRequest[] = [];
    const hostsWithLostDomains: string[] = [];
    const destinationsMatter = Object.keys(q.call(listenerTraits, at)).length > 0;
    for (const host of planned) {
      const { all, alternates } = domainsOf(q, host, at.port, localNamespace);
      const free = all.filter((domain) => {
        const name = domain.toLowerCase();
        if (taken.has(name) || (ownNames.has(domain) && alternates.includes(domain))) {
          return false;
        }
        taken.add(name);
        return true;
      });
      if (free.length < all.length) hostsWithLostDomains.push(host.name);
      const kept =
        at.port === 0 && host.port !== defaultHttpPort ? free.filter((domain) => domain.includes(":")) : free;
      if (kept.length > 0) {
        const destinations =
          destinationsMatter && host.virtualService !== undefined
            ? q.call(listenerDestinations, { ...at, virtualService: host.virtualService })
            : [];
        hosts.push(requestFor(host, at.port, kept.length === all.length ? all : kept, destinations));
      }
    }
    return {
      chunks: chunkHosts(hosts),
      singleLabelDomains: [...taken].filter((domain) => !domain.includes(".")).sort(),
      hostsWithLostDomains,
    };
  },
  { key: sidecarKey, equals: sameHosts },
);

/** Domain to the virtual host of a port that has it. */
export const virtualHostByDomain = query(
  "virtualHostByDomain",
  (q, at: SidecarPort): Readonly<Record<string, VirtualHostRequest>> =>
    Object.fromEntries(
      q
        .call(sidecarVirtualHosts, at)
        .chunks.flatMap(({ hosts }) => hosts.flatMap((host) => host.domains.map((domain) => [domain, host]))),
    ),
  { key: sidecarKey },
);

const defaultHttpPort = 80;

/** The same virtual host with the names that it has from within its namespace, but for those that it has lost to other hosts. */
function withLocalDomains(
  kept: VirtualHostRequest,
  { there, here }: { readonly there: readonly string[]; readonly here: readonly string[] },
): VirtualHostRequest {
  const lost = new Set(there.filter((domain) => !kept.domains.includes(domain)));
  return { ...kept, domains: lost.size === 0 ? here : here.filter((domain) => !lost.has(domain)) };
}

function domainsOf(
  q: QueryContext,
  host: PlannedHost,
  listenerPort: number,
  localNamespace: string | undefined,
): Domains {
  if (host.service === undefined) {
    const named = bracketed(host.hostname);
    return { all: q.ask(proxylessGrpc) ? [named, hostPort(host.hostname, host.port)] : [named], alternates: [] };
  }
  const { service, aliases } = host.service;
  return q.call(serviceDomains, {
    service,
    aliases,
    ...(localNamespace !== undefined && isLocal(host.service, localNamespace) ? { localNamespace } : {}),
    ...(appendsPorts(q, listenerPort) ? { appendedPort: host.port } : {}),
    ...(listenerPort === 0 ? { anyPort: true as const } : {}),
  });
}

/** Whether domains with and without the port are told apart: gRPC applications do so, and a generic proxy, which serves all ports. */
function appendsPorts(q: QueryContext, listenerPort: number): boolean {
  return listenerPort === 0 || q.ask(proxylessGrpc);
}

function isLocal({ hostname, aliases }: PortService, namespace: string): boolean {
  const marker = `.${namespace}.svc.`;
  return hostname.includes(marker) || aliases.some((alias) => alias.includes(marker));
}

function requestFor(
  { name, hostname, port, service, virtualService }: PlannedHost,
  listenerPort: number,
  domains: readonly string[],
  destinations: readonly DestinationTraits[],
): VirtualHostRequest {
  return {
    name,
    domains,
    hostname,
    port,
    listenerPort,
    ...(service === undefined ? {} : { service: service.service }),
    ...(virtualService === undefined ? {} : { virtualService }),
    ...(destinations.length === 0 ? {} : { destinations }),
  };
}
