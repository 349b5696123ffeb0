import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { createObject, deleteObject, updateObject } from "@istiod/kubernetes";
import type { ClusterState } from "../kube/cluster-state.js";
import {
  controllerOf,
  controllerReference,
  type Endpoint,
  type EndpointPort,
  type EndpointSlice,
  isFinished,
  isReady,
  matches,
  type Pod,
  type Service,
  type ServicePort,
} from "../kube/objects.js";
import { keyOf } from "../kube/store.js";
import { types } from "../kube/types.js";
import { WorkQueue } from "../kube/work-queue.js";
import { SERVICE_NAME } from "../network/service-proxy.js";

const MANAGED_BY = "endpointslice.kubernetes.io/managed-by";
const CONTROLLER = "endpointslice-controller.k8s.io";
const HEADLESS = "service.kubernetes.io/headless";

/** Keeps the EndpointSlices of Services with selectors: one for each set of ports that pods have. */
export function startEndpointSlices(cluster: ClusterState): () => void {
  const { services, pods, endpointSlices, nodes } = cluster;
  const queue = new WorkQueue(async (key) => {
    const service = services.get(key);
    if (service?.spec.selector && service.metadata.deletionTimestamp === undefined) await reconcile(cluster, service);
  }, cluster.report);
  const selecting = (pod: Pod | undefined): void => {
    for (const service of pod ? services.in(pod.metadata.namespace) : [])
      if (service.spec.selector && matches({ matchLabels: service.spec.selector }, pod?.metadata.labels))
        queue.add(keyOf(service));
  };
  services.listen((service) => service && queue.add(keyOf(service)));
  pods.listen((pod, previous) => [pod, previous].forEach(selecting));
  nodes.listen(() => services.values().forEach((service) => queue.add(keyOf(service))));
  endpointSlices.listen((slice, previous) => {
    const owner = previous && !slice ? controllerOf(previous) : undefined;
    if (owner?.kind === "Service") queue.add(`${previous?.metadata.namespace ?? ""}/${owner.name}`);
  });
  return () => queue.stop();
}

async function reconcile(cluster: ClusterState, service: Service): Promise<void> {
  const { namespace } = service.metadata;
  const zoneOf = (node = ""): string | undefined =>
    cluster.nodes.get(node)?.metadata.labels?.["topology.kubernetes.io/zone"];
  const wanted = slicesFor(service, cluster.pods.in(namespace), zoneOf);
  const own = cluster.endpointSlices
    .in(namespace)
    .filter(
      (slice) =>
        controllerOf(slice)?.uid === service.metadata.uid && slice.metadata.labels?.[MANAGED_BY] === CONTROLLER,
    );
  for (const slice of wanted) {
    const existing = own.find(({ metadata }) => metadata.name === slice.metadata.name);
    await write(cluster, slice, existing);
  }
  const names = new Set(wanted.map(({ metadata }) => metadata.name));
  for (const { metadata } of own)
    if (!names.has(metadata.name))
      await deleteObject(cluster.client, types.endpointSlices, metadata, { uid: metadata.uid });
}

async function write({ client, endpointSlices }: ClusterState, slice: EndpointSlice, existing?: EndpointSlice) {
  if (!existing) return endpointSlices.put(await createObject(client, types.endpointSlices, slice));
  const { endpoints, ports, metadata } = existing;
  const isSame =
    isDeepStrictEqual(endpoints ?? [], slice.endpoints) &&
    isDeepStrictEqual(ports ?? [], slice.ports) &&
    isDeepStrictEqual(metadata.labels, slice.metadata.labels);
  if (isSame) return;
  const { resourceVersion } = metadata;
  const next = { ...slice, metadata: { ...slice.metadata, resourceVersion } };
  endpointSlices.put(await updateObject(client, types.endpointSlices, next));
}

/** Returns the EndpointSlices that a Service should have. */
export function slicesFor(
  service: Service,
  pods: readonly Pod[],
  zoneOf: (node: string | undefined) => string | undefined,
): EndpointSlice[] {
  const { name, namespace, uid, labels } = service.metadata;
  const { selector = {}, clusterIP } = service.spec;
  const groups = new Map<string, { readonly ports: EndpointPort[]; readonly endpoints: Endpoint[] }>();
  const selected = pods.filter((pod) => matches({ matchLabels: selector }, pod.metadata.labels));
  for (const pod of selected.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))) {
    if (!pod.status?.podIP || isFinished(pod)) continue;
    const ports = (service.spec.ports ?? []).flatMap((port) => endpointPort(port, pod));
    const key = JSON.stringify(ports);
    const group = groups.get(key) ?? { ports, endpoints: [] };
    groups.set(key, group);
    group.endpoints.push(endpointOf(service, pod, pod.status.podIP, zoneOf(pod.spec.nodeName)));
  }
  if (groups.size === 0) groups.set("[]", { ports: [], endpoints: [] });
  return [...groups].map(([key, { ports, endpoints }]) => {
    const suffix = createHash("sha256").update(`${uid}${key}`).digest("hex").slice(0, 8);
    const metadata = {
      name: `${name}-${suffix}`,
      namespace,
      labels: {
        ...labels,
        [SERVICE_NAME]: name,
        [MANAGED_BY]: CONTROLLER,
        ...(clusterIP === "None" && { [HEADLESS]: "" }),
      },
      ownerReferences: [controllerReference(service, "v1", "Service")],
    };
    return { metadata, addressType: "IPv4", endpoints, ports } as unknown as EndpointSlice;
  });
}

function endpointPort({ name = "", port, targetPort = port, protocol = "TCP", appProtocol }: ServicePort, pod: Pod) {
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const named = containers.flatMap(({ ports = [] }) => ports).find((candidate) => candidate.name === targetPort);
  const resolved = typeof targetPort === "number" ? targetPort : named?.containerPort;
  return resolved === undefined ? [] : [{ name, port: resolved, protocol, ...(appProtocol && { appProtocol }) }];
}

function endpointOf({ metadata, spec }: Service, pod: Pod, address: string, zone: string | undefined): Endpoint {
  const { name, namespace, uid, deletionTimestamp } = pod.metadata;
  const { hostname, subdomain, nodeName } = pod.spec;
  const isServing = isReady(pod);
  const terminating = deletionTimestamp !== undefined;
  return {
    addresses: [address],
    conditions: {
      ready: spec.publishNotReadyAddresses === true || (isServing && !terminating),
      serving: spec.publishNotReadyAddresses === true || isServing,
      terminating,
    },
    ...(hostname !== undefined && subdomain === metadata.name && { hostname }),
    ...(nodeName !== undefined && { nodeName }),
    targetRef: { kind: "Pod", name, namespace, uid },
    ...(zone !== undefined && { zone }),
  };
}
