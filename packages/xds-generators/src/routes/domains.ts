import { isIP } from "node:net";
import { query, type QueryContext } from "@istiod/incremental";
import {
  clientAddress,
  clientAddresses,
  dnsDomain,
  features,
  isWildcard,
  kubernetesDnsSuffix,
  namespaceOfHostname,
} from "@istiod/push-context";
import { keyOfId, type Service, service, splitKey, UNSPECIFIED_ADDRESS } from "@istiod/service-discovery";

/** The domains of a virtual host. */
export interface Domains {
  /** Without duplicates: Envoy rejects a route configuration with a duplicate domain. */
  readonly all: readonly string[];
  /** Short forms of a longer name, which yield to a host with exactly that name. */
  readonly alternates: readonly string[];
}

/** A request for the domains of a service. */
interface DomainRequest {
  readonly service: string;
  /** Keys of ExternalName services that refer to it. */
  readonly aliases: readonly string[];
  /** The namespace in the client's DNS domain, if one of the hosts belongs to it. */
  readonly localNamespace?: string;
  /** Domains with the port are added (`host:port` and `host`); absent: Envoy ignores ports. */
  readonly appendedPort?: number;
  /** All ports of the service are routed together, so its name and addresses are used as declared. */
  readonly anyPort?: true;
}

/**
 * The domains by which the client addresses a service. Source: pilot/pkg/networking/core/httproute.go,
 * generateVirtualHostDomains.
 */
export const serviceDomains = query(
  "serviceDomains",
  (q, request: DomainRequest): Domains => {
    const found = q.call(service, request.service);
    if (found === undefined) {
      return { all: [], alternates: [] };
    }
    const { appendedPort, anyPort = false } = request;
    const hostname = anyPort ? found.hostname : found.hostname.toLowerCase();
    const names: string[] = [];
    const alternates: string[] = [];
    for (const host of [hostname, ...request.aliases.map((alias) => splitKey(keyOfId(alias))[1])]) {
      const others = alternateHosts(q, host, request);
      names.push(...withPort(host, appendedPort), ...others);
      alternates.push(...others);
    }
    const ofInstances =
      found.resolution === "Passthrough" && found.registry === "Kubernetes" ? names.map((name) => `*.${name}`) : [];
    const addresses = addressesOf(q, found, anyPort).flatMap((address) => withPort(address, appendedPort));
    return { all: [...new Set([...names, ...ofInstances, ...addresses])], alternates };
  },
  {
    key: ({ service: id, aliases, localNamespace = "", appendedPort = "", anyPort = "" }) =>
      `${id} ${localNamespace} ${appendedPort} ${anyPort} ${aliases.join(" ")}`,
  },
);

/** Returns `host:port`, with brackets around an IPv6 address. */
export function hostPort(host: string, port: number): string {
  return `${bracketed(host)}:${port}`;
}

/** Returns an IPv6 address in brackets, any other host unchanged. */
export function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

function withPort(host: string, port: number | undefined): readonly string[] {
  return port === undefined ? [bracketed(host)] : [bracketed(host), hostPort(host, port)];
}

/**
 * Returns the addresses of a service. If ports are distinguished, a single declared address counts, which may be
 * auto-allocated.
 */
function addressesOf(q: QueryContext, found: Service, anyPort: boolean): readonly string[] {
  const { autoAllocatedIpv4: _, autoAllocatedIpv6: __, ...declared } = found;
  const addresses = clientAddresses(q, anyPort ? found : { ...declared, defaultAddress: clientAddress(q, found) });
  return addresses.filter((address) => address !== "" && address !== UNSPECIFIED_ADDRESS);
}

/** Returns other forms of a host: with a trailing dot, and shortened by the client's DNS domain. */
export function alternateHosts(
  q: QueryContext,
  host: string,
  request: Pick<DomainRequest, "localNamespace" | "appendedPort">,
): readonly string[] {
  // Without its domain, a wildcard host would match every request. Envoy rejects a second such domain.
  const matchesAll = (name: string): boolean => name === "*" || name.startsWith("*:");
  const names = alternateNames(q, host, request);
  return isWildcard(host) ? names.filter((name) => !matchesAll(name)) : names;
}

function alternateNames(
  q: QueryContext,
  host: string,
  { localNamespace, appendedPort }: Pick<DomainRequest, "localNamespace" | "appendedPort">,
): readonly string[] {
  const absolute = features.absoluteFqdnDomains(q) ? absoluteNames(host, appendedPort) : [];
  const suffix = q.ask(kubernetesDnsSuffix);
  if (suffix === undefined) {
    return [
      ...absolute,
      ...withoutSharedSuffix(host, q.ask(dnsDomain)).flatMap((name) => withPort(name, appendedPort)),
    ];
  }
  return host.endsWith(suffix)
    ? [...absolute, ...kubernetesNames(host, localNamespace).flatMap((name) => withPort(name, appendedPort))]
    : absolute;
}

function absoluteNames(host: string, port: number | undefined): readonly string[] {
  const plain = isIP(host) === 0 ? [`${host}.`] : [];
  return port === undefined ? plain : [...plain, hostPort(`${host}.`, port)];
}

/** Returns `cart.shop` and `cart.shop.svc`; from within the namespace also `cart`. */
function kubernetesNames(host: string, localNamespace: string | undefined): readonly string[] {
  const namespace = namespaceOfHostname(host);
  if (namespace === undefined) {
    return [];
  }
  const qualified = host.slice(0, host.indexOf(".svc."));
  return namespace === localNamespace
    ? [host.slice(0, host.indexOf(".")), `${qualified}.svc`, qualified]
    : [qualified, `${qualified}.svc`];
}

/**
 * Returns a host outside Kubernetes' naming without the trailing labels that it shares with the client's DNS domain.
 */
function withoutSharedSuffix(host: string, domain: string): readonly string[] {
  const [labels, own] = [host.split("."), domain.split(".")];
  let shared = 0;
  while (shared < Math.min(labels.length, own.length) && labels.at(-1 - shared) === own.at(-1 - shared)) {
    shared++;
  }
  if (shared === 0) {
    return [];
  }
  const unique = labels.slice(0, labels.length - shared);
  const name = unique.join(".");
  return unique.length === 2 ? [name, `${name}.${labels[unique.length]}`] : [name];
}
