import { isIP } from "node:net";
import type { QueryContext } from "@istiod/incremental";
import { features, inCluster, inNetwork } from "@istiod/push-context";
import { allEndpoints, type Endpoint, endpointSource, type Service } from "@istiod/service-discovery";
import type { NamedAddresses } from "./named-addresses.js";

/** The DNS names and addresses of a headless service. */
interface HeadlessNames {
  /** The addresses of the service itself: of endpoints in the client's network. */
  readonly addresses: readonly string[];
  /** The hostnames of its pods, where they have one: `pod.subdomain.namespace.svc.domain`. */
  readonly names: readonly NamedAddresses[];
}

/**
 * Returns the names of a headless service. Only endpoints in the client's network are included, since it reaches no
 * others. If pods in several clusters share a name, those in the client's cluster take precedence.
 */
export function headlessNames(q: QueryContext, service: Service): HeadlessNames {
  const addresses: string[] = [];
  const pods = new Map<string, { readonly near: string[]; readonly far: string[]; readonly shortName: string }>();
  const seen = new Set<string>();
  const ports = new Set(service.ports.map(({ name }) => name));
  const domain = service.hostname.slice(service.hostname.indexOf(".") + 1);
  const multicluster = features.multiclusterHeadless(q);
  for (const endpoint of q.call(allEndpoints, endpointSource(service))) {
    const [first = ""] = endpoint.addresses;
    if (!ports.has(endpoint.portName) || !isResolvable(service, endpoint) || seen.has(first)) continue;
    seen.add(first);
    if (!q.ask(inNetwork, endpoint.network)) continue;
    const near = q.ask(inCluster, endpoint.cluster);
    if (endpoint.subdomain !== "") {
      const shortName = `${endpoint.hostname}.${endpoint.subdomain}`;
      const pod = pods.get(shortName) ?? { near: [], far: [], shortName };
      (near ? pod.near : pod.far).push(...endpoint.addresses);
      pods.set(shortName, pod);
    }
    if (near || multicluster) addresses.push(...endpoint.addresses);
  }
  const { registry, namespace } = service;
  const names = [...pods.values()].map(({ near, far, shortName }) => ({
    name: `${shortName}.${domain}`,
    addresses: near.length > 0 ? near : far,
    registry,
    shortName,
    namespace,
  }));
  return { addresses, names };
}

function isResolvable({ publishNotReadyAddresses }: Service, { addresses, health }: Endpoint): boolean {
  return (
    addresses.length > 0 &&
    addresses.every((address) => isIP(address) !== 0) &&
    (publishNotReadyAddresses || health === "Healthy")
  );
}
