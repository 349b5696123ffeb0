import {
  endpointSlices,
  endpointSlicesByService,
  podsByAddress,
  services,
  type EndpointSliceObject,
  type SliceEndpoint,
} from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import { withTopology } from "../labels.js";
import { DISABLED_TLS_MODE, type Endpoint, type Health } from "../model/endpoint.js";
import type { Workload } from "../model/workload.js";
import { workloadNetwork } from "../network/workload-network.js";
import { settings } from "../settings/features.js";
import { isSelectable, podWorkload } from "../workloads/pod-workload.js";
import { workloadEndpoint } from "../workloads/workload-endpoint.js";
import { exportTargets } from "./convert-service.js";
import { kubernetesServicesByName, type ServiceInCluster } from "./kubernetes-service.js";

const slicesByName = index(endpointSlices, "byServiceName", ({ namespace, spec }) =>
  spec.service === "" ? [] : [`${namespace}/${spec.service}`],
);

/** Services with exportTo `~`. */
const hiddenServices = index(services, "hidden", (service) =>
  exportTargets(service).includes("~") ? [`${service.cluster}/${service.namespace}/${service.name}`] : [],
);

/** The clusters with a Service of this name or EndpointSlices for it, sorted. */
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
 * The endpoints in a Kubernetes Service's EndpointSlices of one cluster, for all ports, deduplicated by address and
 * port. Empty if the Service's exportTo is `~`, even if a route names it (kube/controller, serviceNeedsPush).
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

/** Label of EndpointSlices with endpoints in other clusters. */
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
  const state = q.call(serviceState, at);
  if (state === "absent" || !terminating) return "Unhealthy";
  return serving && state === "drains" ? "Draining" : "Terminating";
}

/** State of a Service for terminating endpoints: it drains them if it has persistent sessions. */
const serviceState = query("serviceState", (q, at: ServiceInCluster): "absent" | "exists" | "drains" => {
  const labels = q.read(services, `${at.cluster}/${at.namespace}/${at.name}`)?.labels;
  if (labels === undefined) return "absent";
  const names = [settings.persistentSessionLabel(q), settings.persistentSessionHeaderLabel(q)];
  return names.some((name) => name !== "" && (labels[name] ?? "") !== "") ? "drains" : "exists";
});

/**
 * Returns the workload of an address: the pod that the slice references (undefined while unknown, so that the address
 * is omitted), else a pod with the address, else a workload with only the address.
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
    ? addressWorkload(q, cluster, address)
    : q.call(podWorkload, `${cluster}/${namespace}/${name}`);
}

/** The name of a ready pod with this address; the first one if several share the host network. */
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

function addressWorkload(q: QueryContext, cluster: string, address: string): Workload {
  const network = workloadNetwork(q, cluster, address, {});
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
 * Returns the addresses of an endpoint: one; or if both the Service and the pod are dual-stack, all of the pod's for
 * the IPv4 slice and none for the IPv6 slice.
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
  if (!settings.dualStack(q) || !q.call(isDualStack, at)) return [address];
  return slice.spec.addressType === "IPv6" ? [] : workload.addresses;
}

const isDualStack = query(
  "isDualStackService",
  (q, at: ServiceInCluster): boolean =>
    (q.read(services, `${at.cluster}/${at.namespace}/${at.name}`)?.spec.clusterIPs.length ?? 0) > 1,
);
