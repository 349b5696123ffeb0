import type { ServiceEntryObject } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import type { ServicePort as EntryPort } from "@istiod/istio-api/networking/v1alpha3/service_entry";
import { withTopology } from "../labels.js";
import { DISABLED_TLS_MODE, type Endpoint, type Health } from "../model/endpoint.js";
import { type EndpointSource, endpointSourceKey } from "../model/service.js";
import type { Workload } from "../model/workload.js";
import { workloadEndpoint } from "../workloads/workload-endpoint.js";
import { convertWorkloadEntry, UNIX_PREFIX } from "../workloads/workload-entry.js";
import { addressesOf } from "./convert-service-entry.js";
import { resolutionOf } from "./resolution.js";
import { serviceEntriesOf, serviceEntryNamed } from "./entry-service.js";
import { servedWorkloads } from "./served-workloads.js";

/**
 * The endpoints of all ServiceEntries that declare a service key (`namespace/host`) and are not hidden, oldest first.
 * They are repeated for each address of a ServiceEntry.
 */
export const serviceEntryEndpoints = query(
  "serviceEntryEndpoints",
  (q, source: EndpointSource): readonly Endpoint[] =>
    q
      .call(endpointsByEntry, source)
      .flatMap(({ endpoints, copies }) => Array.from({ length: copies }, () => endpoints).flat()),
  { key: endpointSourceKey },
);

/** Endpoints of one ServiceEntry for a service key. */
interface EndpointsOfEntry {
  /** Name of the ServiceEntry. */
  readonly entry: string;
  readonly endpoints: readonly Endpoint[];
  readonly copies: number;
}

/**
 * The endpoints of a service key (`namespace/host`) by ServiceEntry that is not hidden, oldest first. A
 * DNS_ROUND_ROBIN service has one endpoint per port, because Envoy accepts only one; further workloads do not serve the
 * port. Source: `mergeServicesInstancesByNamespaceHost`.
 */
export const endpointsByEntry = query(
  "endpointsByServiceEntry",
  (q, source: EndpointSource): readonly EndpointsOfEntry[] => {
    const { service: key, hidden = [] } = source;
    const hostname = key.slice(key.indexOf("/") + 1);
    const numbers = new Set<number>();
    const visible = serviceEntriesOf(q, key).filter(({ name }) => !hidden.includes(name));
    return visible.map((entry) => {
      const hasSingleEndpoint = resolutionOf(entry) === "DNSRoundRobinLB";
      const endpoints = q
        .call(endpointsOfEntry, { namespace: entry.namespace, name: entry.name, hostname })
        .filter(({ portNumber }) => {
          const isKept = !hasSingleEndpoint || !numbers.has(portNumber);
          numbers.add(portNumber);
          return isKept;
        });
      return { entry: entry.name, endpoints, copies: hasSingleEndpoint ? 1 : addressesOf(entry).length };
    });
  },
  { key: endpointSourceKey },
);

/**
 * The endpoints of a ServiceEntry for one of its hosts: the listed or the selected ones, or the host itself with DNS
 * resolution.
 */
const endpointsOfEntry = query(
  "endpointsOfServiceEntry",
  (q, at: { readonly namespace: string; readonly name: string; readonly hostname: string }): readonly Endpoint[] => {
    const entry = serviceEntryNamed(q, `${at.namespace}/${at.name}`);
    if (entry === undefined) return [];
    const { spec } = entry;
    const resolution = resolutionOf(entry);
    const resolvesByDns = resolution === "DNSLB" || resolution === "DNSRoundRobinLB";
    if (spec.workloadSelector !== undefined) {
      return q
        .call(servedWorkloads, `${at.namespace}/${at.name}`)
        .workloads.flatMap((workload) =>
          endpointsOfWorkload(workload, spec.ports, workload.kind === "Pod" ? "Healthy" : "Unknown"),
        );
    }
    if (spec.endpoints.length === 0 && resolvesByDns)
      return spec.ports.map((port) => hostEndpoint(entry, at.hostname, port));
    return spec.endpoints.flatMap((endpoint, position) => {
      const { cluster, namespace } = entry;
      const name = `${entry.name}-${position}`;
      const workload = convertWorkloadEntry(q, endpoint, {
        cluster,
        namespace,
        name,
        workloadName: name,
        labels: endpoint.labels,
      });
      return endpointsOfWorkload(workload, spec.ports, "Unknown");
    });
  },
);

/**
 * Returns the endpoints of a workload for each port. The endpoint's port is 0 for a Unix socket, else the workload's
 * port with that name, else the target port, else the port's number. A workload without a workload name uses its own
 * name.
 */
function endpointsOfWorkload(workload: Workload, ports: readonly EntryPort[], health: Health): readonly Endpoint[] {
  const [address = ""] = workload.addresses;
  const socket = workload.addresses.length === 1 && address.startsWith(UNIX_PREFIX);
  const named = workload.workloadName === "" ? { ...workload, workloadName: workload.name } : workload;
  const addresses = socket ? [address.slice(UNIX_PREFIX.length)] : workload.addresses;
  return ports.map(({ name, number, targetPort }) => {
    const port = socket ? 0 : workload.ports[name] || targetPort || number;
    return workloadEndpoint(named, { addresses, port, portName: name, portNumber: number, health });
  });
}

function hostEndpoint(entry: ServiceEntryObject, hostname: string, port: EntryPort): Endpoint {
  return {
    addresses: [hostname],
    port: port.targetPort || port.number,
    portName: port.name,
    portNumber: port.number,
    labels: withTopology({}, { cluster: "", locality: "", nodeName: "", network: "" }),
    identity: "",
    network: "",
    locality: "",
    cluster: entry.cluster,
    weight: 0,
    tlsMode: DISABLED_TLS_MODE,
    namespace: entry.namespace,
    workloadName: entry.name,
    hostname: "",
    subdomain: "",
    nodeName: "",
    health: "Unknown",
  };
}
