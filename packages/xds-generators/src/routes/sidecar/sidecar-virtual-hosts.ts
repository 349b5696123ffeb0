import { query, type QueryContext, structurallyEqual } from "@istiod/incremental";
import { isProxylessGrpc, type ScopeRef } from "@istiod/push-context";
import { bracketed, type Domains, hostPort, serviceDomains } from "../domains.js";
import type { DestinationTraits } from "../route/destinations.js";
import type { VirtualHostRequest } from "../virtual-host.js";
import { listenerDestinations, listenerTraits } from "./listener-destinations.js";
import { type EgressPort, egressPortKey, type PortService } from "./port-services.js";
import { chunkHosts, replaceHosts, type VirtualHostChunk } from "./virtual-host-chunks.js";
import { type PlannedHost, virtualHostPlan } from "./virtual-host-plan.js";

/** A port of an egress listener, for clients in one namespace. */
export interface SidecarPort extends EgressPort {
  /** The namespace in the client's DNS domain, if a service in it has the port. */
  readonly localNamespace?: string | undefined;
}

/** The virtual hosts of a port. */
export interface SidecarVirtualHosts {
  /** Sorted by name. */
  readonly chunks: readonly VirtualHostChunk[];
  /** Domains without a dot, which a short name of a service could equal. Sorted. */
  readonly singleLabelDomains: readonly string[];
  /** Names of virtual hosts that lost a domain to another. */
  readonly hostsWithLostDomains: readonly string[];
}

/**
 * The virtual hosts of a port with unique domains, ignoring case: the first host with a domain keeps it, except that a
 * short name yields to a host with exactly that name. Hosts without a domain are omitted.
 *
 * Within a namespace, its services have one more short name each. Unless another host has that name, everything else is
 * the same as for all other clients, whose chunks are reused.
 */
export const sidecarVirtualHosts = query(
  "sidecarVirtualHosts",
  (q, { localNamespace, ...at }: SidecarPort): SidecarVirtualHosts => {
    if (localNamespace === undefined || hasSingleNamespace(at.scope)) {
      return q.call(buildVirtualHosts, { ...at, localNamespace });
    }
    const shared = q.call(buildVirtualHosts, at);
    const local = q
      .call(virtualHostPlan, at)
      .hosts.filter(({ service }) => service !== undefined && isLocal(service, localNamespace))
      .map((host) => ({
        name: host.name,
        sharedDomains: domainsOf(q, host, at.port, undefined).all,
        localDomains: domainsOf(q, host, at.port, localNamespace).all,
      }));
    const added = local
      .flatMap(({ sharedDomains, localDomains }) => localDomains.filter((domain) => !sharedDomains.includes(domain)))
      .map((domain) => domain.toLowerCase());
    const unclaimed =
      new Set(added).size === added.length &&
      added.every((domain) => !domain.includes(".") && !shared.singleLabelDomains.includes(domain));
    const chunks =
      appendsPorts(q, at.port) || !unclaimed
        ? undefined
        : replaceHosts(shared.chunks, new Map(local.map((host) => [host.name, host])), withLocalDomains);
    return chunks === undefined ? q.call(buildVirtualHosts, { ...at, localNamespace }) : { ...shared, chunks };
  },
  { key: sidecarKey, equals: sameHosts },
);

/** Compares chunk keys instead of the thousands of hosts in them. */
function sameHosts(a: SidecarVirtualHosts, b: SidecarVirtualHosts): boolean {
  return (
    a.chunks.length === b.chunks.length &&
    a.chunks.every(({ key }, i) => key === b.chunks[i]?.key) &&
    structurallyEqual([a.singleLabelDomains, a.hostsWithLostDomains], [b.singleLabelDomains, b.hostsWithLostDomains])
  );
}

export function sidecarKey(at: SidecarPort): string {
  return `${at.localNamespace ?? ""} ${egressPortKey(at)}`;
}

/** Reports whether only clients of one namespace have a scope, so that there are no other clients to share with. */
function hasSingleNamespace({ sidecar, namespace }: ScopeRef): boolean {
  return sidecar !== undefined && namespace !== undefined;
}

/** The same virtual hosts, built without reusing those of other clients. */
export const buildVirtualHosts = query(
  "buildVirtualHosts",
  (q, { localNamespace, ...at }: SidecarPort): SidecarVirtualHosts => {
    const planned = q.call(virtualHostPlan, at).hosts;
    const ownNames = new Set(
      planned.flatMap(({ service, name, hostname }) => (service === undefined ? [] : [name, hostname])),
    );
    const used = new Set<string>();
    const hosts: VirtualHostRequest[] = [];
    const hostsWithLostDomains: string[] = [];
    const hasTraits = Object.keys(q.call(listenerTraits, at)).length > 0;
    for (const host of planned) {
      const { all, alternates } = domainsOf(q, host, at.port, localNamespace);
      const free = all.filter((domain) => {
        const name = domain.toLowerCase();
        if (used.has(name) || (ownNames.has(domain) && alternates.includes(domain))) {
          return false;
        }
        used.add(name);
        return true;
      });
      if (free.length < all.length) hostsWithLostDomains.push(host.name);
      const kept =
        at.port === 0 && host.port !== defaultHttpPort ? free.filter((domain) => domain.includes(":")) : free;
      if (kept.length > 0) {
        const destinations =
          hasTraits && host.virtualService !== undefined
            ? q.call(listenerDestinations, { ...at, virtualService: host.virtualService })
            : [];
        hosts.push(requestFor(host, at.port, kept.length === all.length ? all : kept, destinations));
      }
    }
    return {
      chunks: chunkHosts(hosts),
      singleLabelDomains: [...used].filter((domain) => !domain.includes(".")).sort(),
      hostsWithLostDomains,
    };
  },
  { key: sidecarKey, equals: sameHosts },
);

/** The virtual hosts of a port by domain. */
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

/**
 * Returns a virtual host with the domains that it has within its namespace, except those that it lost to other hosts.
 */
function withLocalDomains(
  kept: VirtualHostRequest,
  {
    sharedDomains,
    localDomains,
  }: { readonly sharedDomains: readonly string[]; readonly localDomains: readonly string[] },
): VirtualHostRequest {
  const lost = new Set(sharedDomains.filter((domain) => !kept.domains.includes(domain)));
  return { ...kept, domains: lost.size === 0 ? localDomains : localDomains.filter((domain) => !lost.has(domain)) };
}

function domainsOf(
  q: QueryContext,
  host: PlannedHost,
  listenerPort: number,
  localNamespace: string | undefined,
): Domains {
  if (host.service === undefined) {
    const named = bracketed(host.hostname);
    return { all: q.ask(isProxylessGrpc) ? [named, hostPort(host.hostname, host.port)] : [named], alternates: [] };
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

/**
 * Reports whether domains with and without a port are distinguished: for proxyless gRPC, and for the generic HTTP
 * proxy, which serves all ports.
 */
function appendsPorts(q: QueryContext, listenerPort: number): boolean {
  return listenerPort === 0 || q.ask(isProxylessGrpc);
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
