import {
  endpointSlices,
  endpointSlicesByService,
  podsByAddress,
  services,
  workloadEntriesByNamespace,
  type EndpointSliceObject,
  type SliceEndpoint,
} from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import { selects, withTopology } from "../labels.js";
import { DISABLED_TLS_MODE, type Endpoint, type Health } from "../model/endpoint.js";
import type { Workload } from "../model/workload.js";
import { networkOf } from "../network/network-of.js";
import { settings } from "../settings/environment.js";
import { isSelectable, podWorkload } from "../workloads/pod-workload.js";
import { workloadEndpoint } from "../workloads/workload-endpoint.js";
import { entryWorkload } from "../workloads/workload-entry.js";
import { exportTargets } from "./convert-service.js";
import { kubernetesServicesByName, type ServiceInCluster } from "./service.js";
import { targetPortOnWorkload } from "./target-port.js";

const slicesByName = index(endpointSlices, "byServiceName", ({ namespace, spec }) =>
  spec.service === "" ? [] : [`${namespace}/${spec.service}`],
);

/** Services that nobody may see. */
const hiddenServices = index(services, "exportedToNobody", (service) =>
  exportTargets(service).includes("~") ? [`${service.cluster}/${service.namespace}/${service.name}`] : [],
);

/** The clusters that have a Service of this name or endpoints of one, sorted. */
export const clustersOfService = query(
  "clustersOfService",
  (q, at: { readonly namespace: string; readonly name: string }): readonly string[] => {
    const bucket = `${at.namespace}/${at.name}`;
    const clusters = new Set(
      [...q.read(kubernetesServicesByName, bucket), ...q.read(slicesByName, bucket)].map(({ cluster }) => cluster),
    );
    return [...clusters].sort();
  },
);

/**
 * The endpoints of a Kubernetes Service's EndpointSlices in one cluster, for all its ports, each address once. Of a
 * Service that is exported to nobody they are not taken up, even where a route names it (kube/controller,
 * serviceNeedsPush).
 */
export const sliceEndpoints = query("sliceEndpoints", (q, at: ServiceInCluster): readonly Endpoint[] => {
  if (q.read(hiddenServices, `${at.cluster}/${at.namespace}/${at.name}`).length > 0) return [];
  const endpoints = new Map<string, Endpoint>();
  for (const slice of q.read(endpointSlicesByService, `${at.cluster}/${at.namespace}/${at.name}`)) {
    if (slice.spec.addressType === "FQDN" || slice.labels[MULTI_CLUSTER_SERVICE] !== undefined) continue;
    for (const endpoint of endpointsOfSlice(q, at, slice)) {
      const key = `${endpoint.addresses[0] ?? ""} ${endpoint.portName}`;
      if (!endpoints.has(key)) endpoints.set(key, endpoint);
    }
  }
  return [...endpoints.values()];
});

/** Slices that stand for endpoints of other clusters carry this label. */
const MULTI_CLUSTER_SERVICE = "multicluster.kubernetes.io/service-name";

function endpointsOfSlice(q: QueryContext, at: ServiceInCluster, slice: EndpointSliceObject): readonly Endpoint[] {
  return slice.spec.endpoints.flatMap((endpoint) => {
    const health = healthOf(q, at, endpoint);
    return endpoint.addresses.flatMap((address) => {
      const workload = workloadOf(q, at, endpoint, address);
      if (workload === undefined) return [];
      const addresses = addressesOf(q, at, slice, endpoint, workload, address);
      return slice.spec.ports.flatMap(({ name, port }) =>
        addresses.length === 0
          ? []
          : [workloadEndpoint(workload, { addresses, port: port ?? 0, portName: name, portNumber: 0, health })],
      );
    });
  });
}

function healthOf(q: QueryContext, at: ServiceInCluster, { ready, serving, terminating }: SliceEndpoint): Health {
  if (ready) return "Healthy";
  const life = q.call(serviceLife, at);
  if (life === "absent" || !terminating) return "Unhealthy";
  return serving && life === "drains" ? "Draining" : "Terminating";
}

/** Whether a Service exists, and whether endpoints that end are still sent for the sake of sessions that persist. */
const serviceLife = query("serviceLife", (q, at: ServiceInCluster): "absent" | "exists" | "drains" => {
  const labels = q.read(services, `${at.cluster}/${at.namespace}/${at.name}`)?.labels;
  if (labels === undefined) return "absent";
  const names = [settings.persistentSessionLabel(q), settings.persistentSessionHeaderLabel(q)];
  return names.some((name) => name !== "" && (labels[name] ?? "") !== "") ? "drains" : "exists";
});

/**
 * The workload behind an address: the pod that the slice names, and none (so that it is left out) while that pod is not
 * known; else a pod with the address; else what is known of an address.
 */
function workloadOf(
  q: QueryContext,
  at: ServiceInCluster,
  endpoint: SliceEndpoint,
  address: string,
): Workload | undefined {
  const { cluster, namespace } = at;
  if (endpoint.targetRef?.kind === "Pod") {
    return q.call(podWorkload, `${cluster}/${endpoint.targetRef.namespace}/${endpoint.targetRef.name}`);
  }
  const name = q.call(readyPodAt, { cluster, namespace, address });
  return name === undefined
    ? bareWorkload(q, cluster, address)
    : q.call(podWorkload, `${cluster}/${namespace}/${name}`);
}

/** The name of a ready pod with this address; the first where a host's address is shared. */
const readyPodAt = query(
  "readyPodAt",
  (q, at: { readonly cluster: string; readonly namespace: string; readonly address: string }): string | undefined =>
    q
      .read(podsByAddress, at.address)
      .find(
        (pod) =>
          pod.cluster === at.cluster &&
          pod.namespace === at.namespace &&
          pod.status?.podIPs[0] === at.address &&
          isSelectable(pod),
      )?.name,
);

function bareWorkload(q: QueryContext, cluster: string, address: string): Workload {
  const network = networkOf(q, cluster, address, {});
  return {
    kind: "Pod",
    cluster,
    namespace: "",
    name: "",
    workloadName: "",
    addresses: [address],
    labels: withTopology({}, { cluster, locality: "", nodeName: "", network }),
    serviceAccount: "",
    identity: "",
    locality: "",
    network,
    nodeName: "",
    tlsMode: DISABLED_TLS_MODE,
    hostname: "",
    subdomain: "",
    weight: 0,
    ports: {},
    dnsOnly: false,
  };
}

/**
 * The addresses of an endpoint: one, or where both the Service and the pod have two families, the pod's, given once,
 * with the IPv4 slice.
 */
function addressesOf(
  q: QueryContext,
  at: ServiceInCluster,
  slice: EndpointSliceObject,
  endpoint: SliceEndpoint,
  workload: Workload,
  address: string,
): readonly string[] {
  if (endpoint.targetRef?.kind !== "Pod" || workload.addresses.length < 2) return [address];
  if (!settings.dualStack(q) || !q.call(hasSeveralAddresses, at)) return [address];
  return slice.spec.addressType === "IPv6" ? [] : workload.addresses;
}

const hasSeveralAddresses = query(
  "serviceHasSeveralAddresses",
  (q, at: ServiceInCluster): boolean =>
    (q.read(services, `${at.cluster}/${at.namespace}/${at.name}`)?.spec.clusterIPs.length ?? 0) > 1,
);

/**
 * Endpoints of the WorkloadEntries in a Service's cluster and namespace that it selects. Only a Service with an address
 * of its own selects them.
 */
export const selectedEntries = query("selectedWorkloadEntries", (q, at: ServiceInCluster): readonly Endpoint[] => {
  const entries = q.read(workloadEntriesByNamespace, at.namespace).filter(({ cluster }) => cluster === at.cluster);
  if (entries.length === 0 || !settings.serviceSelectsWorkloadEntries(q)) return [];
  const spec = q.read(services, `${at.cluster}/${at.namespace}/${at.name}`)?.spec;
  if (spec === undefined || spec.clusterIP === "None" || spec.type === "ExternalName") return [];
  const workloads = entries
    .flatMap(({ namespace, name }) => q.call(entryWorkload, `${at.cluster}/${namespace}/${name}`) ?? [])
    .filter((workload) => !workload.dnsOnly && selects(spec.selector, workload.labels));
  return spec.ports.flatMap((servicePort) =>
    workloads.flatMap((workload) => {
      const port = targetPortOnWorkload(servicePort, workload.ports);
      if (port === undefined) return [];
      const { addresses } = workload;
      return [
        workloadEndpoint(workload, { addresses, port, portName: servicePort.name, portNumber: 0, health: "Unknown" }),
      ];
    }),
  );
});
