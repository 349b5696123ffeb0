import { configCluster } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import {
  allEndpoints,
  endpoints,
  endpointSource,
  type Service,
  service,
  serviceAddresses,
  servicesByHostname,
  splitKey,
} from "@istiod/service-discovery";

/** The Services of a Gateway, by hostname, and the ports of its listeners. */
export interface AssignedServices {
  /** Namespace of the Gateway, in which the Services must be. */
  readonly namespace: string;
  readonly hostnames: readonly string[];
  readonly ports: readonly number[];
}

/** The addresses at which the workloads of Services serve ports. All lists are sorted and without repetition. */
export interface AssignedAddresses {
  /** `hostname:port` of Services that have endpoints for the port. */
  readonly internal: readonly string[];
  /** IP addresses of these Services in the config cluster. */
  readonly internalIps: readonly string[];
  /** Addresses outside of the clusters. */
  readonly external: readonly string[];
  /** Hostnames of Services of type LoadBalancer that have no address yet. */
  readonly pending: readonly string[];
  readonly warnings: readonly string[];
  /** Reports whether no warning is about an address that cannot serve the Gateway. */
  readonly areUsable: boolean;
}

/** A fact about one port of a Service, or about a hostname. */
interface Finding {
  readonly internal?: string;
  readonly internalIps?: readonly string[];
  readonly external?: readonly string[];
  readonly pending?: string;
  readonly warning?: string;
  readonly isUnusable?: true;
}

/**
 * The addresses at which Services serve ports. Source: `ResolveGatewayInstances` in
 * pilot/pkg/config/kube/gatewaycommon/context.go.
 */
export const assignedAddresses = query(
  "gatewayApiAssignedAddresses",
  (q, { namespace, hostnames, ports }: AssignedServices): AssignedAddresses => {
    const findings = hostnames.flatMap((hostname) => {
      const found = q.call(service, `${namespace}/${hostname}`);
      return found === undefined
        ? [notFound(q, hostname, namespace)]
        : [...new Set(ports)].map((port) => portFinding(q, found, port));
    });
    const pending = sorted(findings.flatMap((finding) => finding.pending ?? []));
    return {
      internal: sorted(findings.flatMap(({ internal }) => internal ?? [])),
      internalIps: sorted(findings.flatMap(({ internalIps }) => internalIps ?? [])),
      external: sorted(findings.flatMap(({ external }) => external ?? [])),
      pending,
      warnings: [
        ...findings.flatMap(({ warning }) => warning ?? []),
        ...pending.map((hostname) => `address pending for hostname "${hostname}"`),
      ].sort(),
      areUsable: findings.every(({ isUnusable }) => isUnusable !== true),
    };
  },
);

const sorted = (texts: readonly string[]): readonly string[] => [...new Set(texts)].sort();

function notFound(q: QueryContext, hostname: string, namespace: string): Finding {
  const others = sorted(q.call(servicesByHostname, hostname).map((key) => splitKey(key)[0])).map((name) => `"${name}"`);
  const elsewhere =
    others.length === 0 ? "" : ` in namespace "${namespace}", but it was found in namespace(s) ${others.join(", ")}`;
  return { warning: `hostname "${hostname}" not found${elsewhere}`, isUnusable: true };
}

const managedLabel = "gateway.istio.io/managed";

function portFinding(q: QueryContext, found: Service, port: number): Finding {
  const { hostname, type, externalAddresses } = found;
  const own = found.ports.find(({ number }) => number === port);
  if (own !== undefined && q.call(endpoints, { ...endpointSource(found), port: own.name }).length > 0) {
    const external = Object.values(externalAddresses).flat();
    const isPending = Object.keys(externalAddresses).length === 0 && type === "LoadBalancer";
    return {
      internal: `${hostname}:${port}`,
      internalIps: addressesOf(q, found),
      external,
      ...(isPending && { pending: hostname }),
    };
  }
  const all = q.call(allEndpoints, endpointSource(found));
  if (all.length === 0) return { warning: `no instances found for hostname "${hostname}"` };
  const meant = found.ports.filter(({ name }) => all.some((each) => each.portName === name && each.port === port));
  if (meant.length > 0) {
    const numbers = sorted(meant.map(({ number }) => String(number))).join(" ");
    const hint = `(hint: the service port should be specified, not the workload port. Did you mean one of these ports: [${numbers}]?)`;
    return { warning: `port ${port} not found for hostname "${hostname}" ${hint}`, isUnusable: true };
  }
  // The endpoints of a managed Gateway's new port are on their way.
  if (own !== undefined && found.labels[managedLabel] !== undefined) return {};
  return { warning: `port ${port} not found for hostname "${hostname}"`, isUnusable: true };
}

/** Returns the IP addresses of a Service in the config cluster. */
function addressesOf(q: QueryContext, found: Service): readonly string[] {
  return serviceAddresses(found, {
    cluster: configCluster(q),
    usesAutoAllocated: false,
    keepsAllFamilies: true,
    reachable: (addresses) => addresses,
  });
}
