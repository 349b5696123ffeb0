import { destinationRules, virtualServices } from "@istiod/config-ingestion";
import { query } from "@istiod/incremental";
import { serviceTargets } from "@istiod/push-context";
import { allEndpoints, keyOfId, service, serviceOrder, UNSPECIFIED_ADDRESS, type Service } from "@istiod/service-discovery";

/** What the model counts of a mesh, by the names of Istio's gauges. */
export interface ModelGauges {
  readonly pilot_services: number;
  readonly pilot_virt_services: number;
  readonly pilot_vservice_dup_domain: number;
  readonly pilot_destrule_subsets: number;
  readonly pilot_endpoint_not_ready: number;
  readonly pilot_eds_no_instances: number;
  readonly pilot_duplicate_envoy_clusters: number;
  readonly pilot_dns_cluster_without_endpoints: number;
  readonly pilot_conflict_outbound_listener_tcp_over_current_tcp: number;
}

/** What the gauges mean. */
export const modelHelp: Readonly<Record<keyof ModelGauges, string>> = {
  pilot_services: "Services that this istiod knows.",
  pilot_virt_services: "VirtualServices in force.",
  pilot_vservice_dup_domain: "Hosts that a further VirtualService claims for the same gateway in the same namespace.",
  pilot_destrule_subsets: "Subsets that a further DestinationRule of the same host and namespace declares again.",
  pilot_endpoint_not_ready: "Endpoints that are not ready.",
  pilot_eds_no_instances: "Ports of services, discovered by EDS, without an endpoint.",
  pilot_duplicate_envoy_clusters: "Ports of services of one host name that are declared again.",
  pilot_dns_cluster_without_endpoints: "Ports of services, resolved by DNS, without an endpoint.",
  pilot_conflict_outbound_listener_tcp_over_current_tcp: "TCP ports without an address of their own that meet one of the same number.",
};

export const modelGauges = query("metrics.model", (q): ModelGauges => {
  const services = q.call(serviceOrder).flatMap((id) => q.call(service, id) ?? []);
  let [notReady, edsEmpty, dnsEmpty] = [0, 0, 0];
  for (const key of new Set(services.map(({ id }) => keyOfId(id)))) {
    const endpoints = q.call(allEndpoints, key);
    notReady += endpoints.filter(({ health }) => health === "Unhealthy").length;
    const first = services.find((s) => s.key === key);
    const empty = first?.ports.filter((port) => !endpoints.some((e) => e.portName === port.name || e.portNumber === port.number)).length ?? 0;
    if (first?.resolution === "ClientSideLB") edsEmpty += empty;
    if (first?.resolution === "DNSLB" || first?.resolution === "DNSRoundRobinLB") dnsEmpty += empty;
  }
  return {
    pilot_services: services.length,
    pilot_virt_services: q.keys(virtualServices).length,
    pilot_vservice_dup_domain: repeated(
      q.all(virtualServices).flatMap(({ namespace, spec }) => (spec.gateways.length === 0 ? ["mesh"] : spec.gateways).flatMap((gateway) => spec.hosts.map((host) => `${namespace} ${gateway} ${host}`))),
    ),
    pilot_destrule_subsets: repeated(q.all(destinationRules).flatMap(({ namespace, spec }) => spec.subsets.map(({ name }) => `${namespace} ${spec.host} ${name}`))),
    pilot_endpoint_not_ready: notReady,
    pilot_eds_no_instances: edsEmpty,
    pilot_duplicate_envoy_clusters: repeated(services.flatMap(({ hostname, ports }) => ports.map(({ number }) => `${hostname}:${number}`))),
    pilot_dns_cluster_without_endpoints: dnsEmpty,
    pilot_conflict_outbound_listener_tcp_over_current_tcp: repeated(services.flatMap(unboundTcpPorts)),
  };
});

function unboundTcpPorts({ ports, defaultAddress, clusterAddresses }: Service): string[] {
  const bound = defaultAddress !== UNSPECIFIED_ADDRESS || Object.values(clusterAddresses).flat().some((address) => address !== UNSPECIFIED_ADDRESS);
  return bound ? [] : ports.filter(({ protocol }) => protocol === "TCP").map(({ number }) => String(number));
}

/** How many of some names were there before. */
function repeated(names: readonly string[]): number {
  return names.length - new Set(names).size;
}

/** Of one client: whether it implements no service, and how many ports of its workload two services describe differently. */
export const targetsOfClient = query("metrics.targets", (q): { readonly none: boolean; readonly conflicts: number } => {
  const targets = q.ask(serviceTargets);
  const protocols = new Map<number, Set<string>>();
  for (const target of targets) {
    const protocol = q.call(service, target.service)?.ports.find(({ number }) => number === target.port.number)?.protocol ?? "";
    protocols.set(target.targetPort, (protocols.get(target.targetPort) ?? new Set<string>()).add(protocol));
  }
  return { none: targets.length === 0, conflicts: [...protocols.values()].filter(({ size }) => size > 1).length };
});
