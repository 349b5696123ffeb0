import {
  pods,
  serviceEntries,
  workloadEntriesByNamespace,
  type PodObject,
  type ServiceEntryObject,
} from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import type { ServicePort as EntryPort } from "@istiod/istio-api/networking/v1alpha3/service_entry";
import { hasLabels, withTopology } from "../labels.js";
import { DISABLED_TLS_MODE, type Endpoint, type Health } from "../model/endpoint.js";
import type { Workload } from "../model/workload.js";
import { settings } from "../settings/environment.js";
import { isSelectable, podWorkload } from "../workloads/pod-workload.js";
import { workloadEndpoint } from "../workloads/workload-endpoint.js";
import { convertWorkloadEntry, entryWorkload, UNIX_PREFIX } from "../workloads/workload-entry.js";
import { addressesOf } from "./convert.js";
import { resolutionOf } from "./resolution.js";
import { serviceEntriesOf } from "./service.js";

/** Pods of all clusters by namespace. */
const podsByName = index(pods, "byNamespaceOfAllClusters", ({ namespace }) => [namespace]);

/**
 * The endpoints of all ServiceEntries that declare a key (`namespace/host`), the oldest first. They stand once for each
 * address that a ServiceEntry has.
 */
export const serviceEntryEndpoints = query("serviceEntryEndpoints", (q, key: string): readonly Endpoint[] =>
  q
    .call(endpointsByEntry, key)
    .flatMap(({ endpoints, copies }) => Array.from({ length: copies }, () => endpoints).flat()),
);

/** What one ServiceEntry contributes to the endpoints of a key. */
interface EndpointsOfEntry {
  /** Its name. */
  readonly entry: string;
  readonly endpoints: readonly Endpoint[];
  readonly copies: number;
}

/**
 * The endpoints of a key (`namespace/host`) by ServiceEntry, the oldest first. Of a DNS_ROUND_ROBIN service one
 * endpoint remains a port, since Envoy takes no more: workloads beyond it do not serve the port. Source:
 * `mergeServicesInstancesByNamespaceHost`.
 */
export const endpointsByEntry = query("endpointsByServiceEntry", (q, key: string): readonly EndpointsOfEntry[] => {
  const hostname = key.slice(key.indexOf("/") + 1);
  const numbers = new Set<number>();
  return serviceEntriesOf(q, key).map((entry) => {
    const single = resolutionOf(entry) === "DNSRoundRobinLB";
    const endpoints = q
      .call(endpointsOfEntry, { namespace: entry.namespace, name: entry.name, hostname })
      .filter(({ portNumber }) => {
        const remains = !single || !numbers.has(portNumber);
        numbers.add(portNumber);
        return remains;
      });
    return { entry: entry.name, endpoints, copies: single ? 1 : addressesOf(entry).length };
  });
});

/**
 * The endpoints of one ServiceEntry for one of its hosts: those that it lists, those that it selects, or the host
 * itself where DNS finds them.
 */
const endpointsOfEntry = query(
  "endpointsOfServiceEntry",
  (q, at: { readonly namespace: string; readonly name: string; readonly hostname: string }): readonly Endpoint[] => {
    const entry = q.read(serviceEntries, `${at.namespace}/${at.name}`);
    if (entry === undefined) return [];
    const { spec } = entry;
    const resolution = resolutionOf(entry);
    const byName = resolution === "DNSLB" || resolution === "DNSRoundRobinLB";
    if (spec.workloadSelector !== undefined) {
      return selectedWorkloads(q, entry)
        .filter(({ dnsOnly }) => byName || !dnsOnly)
        .flatMap((workload) =>
          endpointsOfWorkload(workload, spec.ports, workload.kind === "Pod" ? "Healthy" : "Unknown"),
        );
    }
    if (spec.endpoints.length === 0 && byName) return spec.ports.map((port) => hostEndpoint(entry, at.hostname, port));
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
 * Pods and WorkloadEntries that a ServiceEntry selects in its namespace, over all clusters: pods first, then by name.
 */
function selectedWorkloads(q: QueryContext, entry: ServiceEntryObject): readonly Workload[] {
  const { namespace } = entry;
  const wanted = entry.spec.workloadSelector?.labels ?? {};
  const selectedPods = settings.serviceEntrySelectsPods(q)
    ? q
        .read(podsByName, namespace)
        .filter((pod) => isSelectable(pod))
        .flatMap((pod) => podOf(q, pod))
    : [];
  const entries = q
    .read(workloadEntriesByNamespace, namespace)
    .flatMap(({ cluster, name }) => q.call(entryWorkload, `${cluster}/${namespace}/${name}`) ?? []);
  return [...selectedPods.sort(byName), ...entries.sort(byName)].filter(({ labels }) => hasLabels(labels, wanted));
}

/** A pod's workload, with its other family's addresses only where both families are in use. */
function podOf(q: QueryContext, { cluster, namespace, name }: PodObject): readonly Workload[] {
  const workload = q.call(podWorkload, `${cluster}/${namespace}/${name}`);
  if (workload === undefined) return [];
  return [
    workload.addresses.length < 2 || settings.dualStack(q)
      ? workload
      : { ...workload, addresses: workload.addresses.slice(0, 1) },
  ];
}

function byName(a: Workload, b: Workload): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : a.cluster < b.cluster ? -1 : 1;
}

/**
 * A workload as endpoint of each port, by its own name where its workload's is empty. The port is, in this order: none
 * for a Unix socket, the workload's port of that name, the target port, the port's own number.
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
