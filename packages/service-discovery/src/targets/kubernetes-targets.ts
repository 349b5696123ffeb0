import { endpointSlices, pods, services, type ContainerPort, type ServicePortSpec } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import { canonicalAddress } from "../canonical-address.js";
import { sliceEndpoints } from "../kubernetes/slice-endpoints.js";
import { clusterSetHostname, kubernetesHostname } from "../kubernetes/hostname.js";
import { targetPortOnPod, targetPortOnWorkload } from "../kubernetes/target-port.js";
import { selects } from "../labels.js";
import type { Labels } from "../model/service.js";
import type { ServiceTarget, Workload } from "../model/workload.js";
import { isImported } from "../multi-cluster/imports.js";
import { kubernetesPortProtocol } from "../protocol.js";
import { settings } from "../settings/features.js";
import { proxyWorkloadEntry } from "./proxy-workload-entry.js";
import { proxyPodKey } from "./proxy-pod.js";
import type { ProxyIdentity } from "./proxy-identity.js";

/** Services by the first label of their selector: a workload's services are in the buckets of its labels. */
const servicesBySelector = index(services, "bySelector", ({ cluster, namespace, spec: { selector = {} } }) => {
  const [name] = Object.keys(selector).sort();
  return name === undefined ? [] : [`${cluster}/${namespace}/${name}=${selector[name] ?? ""}`];
});

/** EndpointSlices by the addresses of their endpoints. */
const slicesByAddress = index(endpointSlices, "byAddress", ({ cluster, namespace, spec }) =>
  spec.service === ""
    ? []
    : spec.endpoints.flatMap(({ addresses }) =>
        addresses.map((address) => `${cluster}/${namespace}/${canonicalAddress(address)}`),
      ),
);

/**
 * Returns the service ports in one cluster that a proxy's workload implements. Source: `GetProxyServiceTargets` of the
 * Kubernetes registry.
 */
export function kubernetesTargets(q: QueryContext, cluster: string, proxy: ProxyIdentity): readonly ServiceTarget[] {
  const entry = proxyWorkloadEntry(q, cluster, proxy);
  if (entry !== undefined) return workloadEntryTargets(q, entry);
  const pod = proxy.isVm ? undefined : proxyPodKey(q, cluster, proxy);
  if (pod === undefined) return metadataTargets(q, cluster, proxy);
  const selected = q.call(podTargets, pod);
  return selected ?? sliceTargets(q, cluster, proxy);
}

/** The service ports of a pod by the selectors of Services; undefined if none selects it. */
const podTargets = query("podTargets", (q, key: string): readonly ServiceTarget[] | undefined => {
  const pod = q.read(pods, key);
  if (pod === undefined) return undefined;
  const names = servicesSelecting(q, pod.cluster, pod.namespace, pod.labels);
  if (names.length === 0) return undefined;
  return names.flatMap((name) =>
    targetsOfService(q, pod.cluster, pod.namespace, name, (port) => targetPortOnPod(port, pod.spec.ports)),
  );
});

/** Returns the names of the Services of a namespace in a cluster that select workloads with these labels, sorted. */
export function servicesSelecting(
  q: QueryContext,
  cluster: string,
  namespace: string,
  labels: Labels,
): readonly string[] {
  return Object.entries(labels)
    .flatMap(([name, value]) => q.read(servicesBySelector, `${cluster}/${namespace}/${name}=${value}`))
    .filter(({ spec }) => selects(spec.selector, labels))
    .map(({ name }) => name)
    .sort();
}

/** Returns one target per port and protocol of a Service; ports without a target port on the workload are skipped. */
function targetsOfService(
  q: QueryContext,
  cluster: string,
  namespace: string,
  name: string,
  resolveTargetPort: (port: ServicePortSpec) => number | undefined,
): readonly ServiceTarget[] {
  const seen = new Set<string>();
  const targets = (q.read(services, `${cluster}/${namespace}/${name}`)?.spec.ports ?? []).flatMap((port) => {
    const targetPort = resolveTargetPort(port);
    const portAndProtocol = `${targetPort} ${kubernetesPortProtocol(port)}`;
    if (targetPort === undefined || seen.has(portAndProtocol)) return [];
    seen.add(portAndProtocol);
    return [{ port: { name: port.name, number: port.port }, targetPort }];
  });
  return serviceIds(q, cluster, namespace, name).flatMap((service) =>
    targets.map((target) => ({ service, ...target })),
  );
}

/**
 * Returns the service IDs of a Kubernetes Service for workloads in its cluster: its own, and the clusterset service if
 * it is imported.
 */
function serviceIds(q: QueryContext, cluster: string, namespace: string, name: string): readonly string[] {
  const own = `${namespace}/${kubernetesHostname(q, namespace, name)}`;
  const shared = settings.clusterSetHosts(q) && q.call(isImported, { cluster, namespace, name });
  return shared ? [own, `${namespace}/${clusterSetHostname(namespace, name)}`] : [own];
}

/** Returns the service ports of an unknown pod from the proxy's node metadata; none if any port cannot be resolved. */
function metadataTargets(q: QueryContext, cluster: string, proxy: ProxyIdentity): readonly ServiceTarget[] {
  const names = servicesSelecting(q, cluster, proxy.namespace, proxy.labels);
  let complete = true;
  const targets = names.flatMap((name) =>
    targetsOfService(q, cluster, proxy.namespace, name, (port) => {
      const target =
        proxy.podPorts.length > 0 ? targetPortOnPod(port, proxy.podPorts as readonly ContainerPort[]) : numberOf(port);
      complete &&= target !== undefined;
      return target;
    }),
  );
  return complete ? targets : [];
}

function numberOf({ targetPort, port }: ServicePortSpec): number {
  return typeof targetPort === "string" ? Number.parseInt(targetPort, 10) || 0 : (targetPort ?? port);
}

function sliceTargets(q: QueryContext, cluster: string, proxy: ProxyIdentity): readonly ServiceTarget[] {
  const address = canonicalAddress(proxy.addresses[0] ?? "");
  const { namespace } = proxy;
  const names = new Set(q.read(slicesByAddress, `${cluster}/${namespace}/${address}`).map(({ spec }) => spec.service));
  return [...names].sort().flatMap((name) => {
    const ports = q.read(services, `${cluster}/${namespace}/${name}`)?.spec.ports ?? [];
    const targets = q.call(sliceEndpoints, { cluster, namespace, name }).flatMap((endpoint) => {
      const port = ports.find((candidate) => candidate.name === endpoint.portName);
      if (canonicalAddress(endpoint.addresses[0] ?? "") !== address || port === undefined) return [];
      return [{ port: { name: port.name, number: port.port }, targetPort: endpoint.port }];
    });
    return serviceIds(q, cluster, namespace, name).flatMap((service) =>
      targets.map((target) => ({ service, ...target })),
    );
  });
}

function workloadEntryTargets(
  q: QueryContext,
  { cluster, namespace, labels, ports }: Workload,
): readonly ServiceTarget[] {
  return servicesSelecting(q, cluster, namespace, labels).flatMap((name) => {
    const spec = q.read(services, `${cluster}/${namespace}/${name}`)?.spec;
    if (spec === undefined || spec.clusterIP === "None" || spec.type === "ExternalName") return [];
    const id = `${namespace}/${kubernetesHostname(q, namespace, name)}`;
    return spec.ports.flatMap((port) => {
      const targetPort = kubernetesPortProtocol(port) === "UDP" ? undefined : targetPortOnWorkload(port, ports);
      return targetPort === undefined
        ? []
        : [{ service: id, port: { name: port.name, number: port.port }, targetPort }];
    });
  });
}
