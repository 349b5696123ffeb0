import { fact, type FactContext, query } from "@istiod/incremental";
import { aliasesOf, service, splitKey } from "@istiod/service-discovery";
import { serviceHeaders } from "../visibility/service-header.js";
import type { Proxy } from "./proxy.js";

const marker = ".svc.";

/**
 * `.svc.cluster.local` for a client whose DNS domain is `shop.svc.cluster.local`; undefined for a domain of another
 * form.
 */
export const kubernetesDnsSuffix = fact("kubernetesDnsSuffix", (proxy: Proxy): string | undefined => {
  const at = proxy.dnsDomain.indexOf(marker);
  return at < 0 ? undefined : proxy.dnsDomain.slice(at);
});

/**
 * The namespace in the client's DNS domain, if any service with a name in that namespace has this port (0: any port).
 * Only then do the short names of services differ between clients.
 */
export const dnsNamespaceServing = fact(
  "dnsNamespaceServing",
  (proxy: Proxy, port: number, q: FactContext): string | undefined => {
    const at = proxy.dnsDomain.indexOf(marker);
    const namespace = at < 0 ? undefined : proxy.dnsDomain.slice(0, at);
    return namespace !== undefined && q.call(namespacesServing, port)[namespace] === true ? namespace : undefined;
  },
);

/** Returns the namespace in a Kubernetes hostname: `shop` for `cart.shop.svc.cluster.local`. */
export function namespaceOfHostname(hostname: string): string | undefined {
  const end = hostname.indexOf(marker);
  const start = hostname.indexOf(".") + 1;
  return end > 0 && start <= end ? hostname.slice(start, end) : undefined;
}

const namespacesServing = query(
  "namespacesServing",
  (q, port: number): Readonly<Record<string, true>> => q.call(namespacesByPort)[port] ?? {},
);

const namespacesByPort = query("namespacesByPort", (q): Readonly<Record<number, Readonly<Record<string, true>>>> => {
  const out: Record<number, Record<string, true>> = {};
  for (const { id } of q.call(serviceHeaders).headers) {
    const { namespaces, ports } = q.call(dnsNamespacesAndPorts, id);
    for (const port of namespaces.length === 0 ? [] : [0, ...ports]) {
      const serving = (out[port] ??= {});
      for (const namespace of namespaces) serving[namespace] = true;
    }
  }
  return out;
});

/** The namespaces in the hostnames of a service and its aliases, and the service's ports. */
const dnsNamespacesAndPorts = query(
  "dnsNamespacesAndPorts",
  (q, id: string): { readonly namespaces: readonly string[]; readonly ports: readonly number[] } => {
    const found = q.call(service, id);
    if (found === undefined) return { namespaces: [], ports: [] };
    const hostnames = [found.hostname, ...q.call(aliasesOf, found.hostname).map((alias) => splitKey(alias)[1])];
    return {
      namespaces: [...new Set(hostnames.flatMap((hostname) => namespaceOfHostname(hostname) ?? []))],
      ports: found.ports.map((port) => port.number),
    };
  },
);
