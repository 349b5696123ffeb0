import { endpointSlices, pods, services, type ContainerPort, type ServicePortSpec } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import { sliceEndpoints } from "../kubernetes/endpoints.js";
import { clusterSetHostname, kubernetesHostname } from "../kubernetes/hostname.js";
import { targetPortOnPod, targetPortOnWorkload } from "../kubernetes/target-port.js";
import { selects } from "../labels.js";
import type { Labels } from "../model/service.js";
import type { ServiceTarget, Workload } from "../model/workload.js";
import { isImported } from "../multi-cluster/imports.js";
import { kubernetesPortProtocol } from "../protocol.js";
import { settings } from "../settings/environment.js";
import { entryOfProxy } from "./entry-of-proxy.js";
import { podKeyOfProxy } from "./pod-of-proxy.js";
import type { ProxyIdentity } from "./proxy-identity.js";

/**
 * Services with a selector, by one of the labels that they ask for: a workload's services are in the buckets of its
 * labels.
 */
const servicesBySelector = index(services, "bySelector", ({ cluster, namespace, spec: { selector = {} } }) => {
  const [name] = Object.keys(selector).sort();
  return name === undefined ? [] : [`${cluster}/${namespace}/${name}=${selector[name] ?? ""}`];
});

/** Services without a selector whose endpoints say which workloads they have. */
const slicesByAddress = index(endpointSlices, "byAddress", ({ cluster, namespace, spec }) =>
  spec.service === ""
    ? []
    : spec.endpoints.flatMap(({ addresses }) => addresses.map((address) => `${cluster}/${namespace}/${address}`)),
);

/**
 * The Kubernetes Services of one cluster that a proxy's workload implements. Source: `GetProxyServiceTargets` of the
 * Kubernetes registry.
 */
export function kubernetesTargets(q: QueryContext, cluster: string, proxy: ProxyIdentity): readonly ServiceTarget[] {
  const entry = entryOfProxy(q, cluster, proxy);
  if (entry !== undefined) return targetsOfEntry(q, entry);
  const pod = proxy.isVm ? undefined : podKeyOfProxy(q, cluster, proxy);
  if (pod === undefined) return targetsOfMetadata(q, cluster, proxy);
  const selected = q.call(targetsOfPod, pod);
  return selected ?? targetsOfSlices(q, cluster, proxy);
}

/** The targets of a pod by the selectors of Services; undefined where none selects it. */
const targetsOfPod = query("targetsOfPod", (q, key: string): readonly ServiceTarget[] | undefined => {
  const pod = q.read(pods, key);
  if (pod === undefined) return undefined;
  const names = servicesSelecting(q, pod.cluster, pod.namespace, pod.labels);
  if (names.length === 0) return undefined;
  return names.flatMap((name) =>
    targetsOn(q, pod.cluster, pod.namespace, name, (port) => targetPortOnPod(port, pod.spec.ports)),
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

/** One target for each port and protocol that a Service leads to; ports that lead nowhere are left out. */
function targetsOn(
  q: QueryContext,
  cluster: string,
  namespace: string,
  name: string,
  targetOf: (port: ServicePortSpec) => number | undefined,
): readonly ServiceTarget[] {
  const seen = new Set<string>();
  const targets = (q.read(services, `${cluster}/${namespace}/${name}`)?.spec.ports ?? []).flatMap((port) => {
    const targetPort = targetOf(port);
    const place = `${targetPort} ${kubernetesPortProtocol(port)}`;
    if (targetPort === undefined || seen.has(place)) return [];
    seen.add(place);
    return [{ port: { name: port.name, number: port.port }, targetPort }];
  });
  return idsOf(q, cluster, namespace, name).flatMap((service) => targets.map((target) => ({ service, ...target })));
}

/**
 * The services that a Kubernetes Service is to the workloads of its cluster: its own, and that of the set of clusters
 * where it is imported.
 */
function idsOf(q: QueryContext, cluster: string, namespace: string, name: string): readonly string[] {
  const own = `${namespace}/${kubernetesHostname(q, namespace, name)}`;
  const shared = settings.clusterSetHosts(q) && q.call(isImported, { cluster, namespace, name });
  return shared ? [own, `${namespace}/${clusterSetHostname(namespace, name)}`] : [own];
}

/**
 * The services of a pod that is not known yet, as its proxy describes it. Where one port cannot be found, nothing is
 * certain and none is given.
 */
function targetsOfMetadata(q: QueryContext, cluster: string, proxy: ProxyIdentity): readonly ServiceTarget[] {
  const names = servicesSelecting(q, cluster, proxy.namespace, proxy.labels);
  let complete = true;
  const targets = names.flatMap((name) =>
    targetsOn(q, cluster, proxy.namespace, name, (port) => {
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

function targetsOfSlices(q: QueryContext, cluster: string, proxy: ProxyIdentity): readonly ServiceTarget[] {
  const [address = ""] = proxy.addresses;
  const { namespace } = proxy;
  const names = new Set(q.read(slicesByAddress, `${cluster}/${namespace}/${address}`).map(({ spec }) => spec.service));
  return [...names].sort().flatMap((name) => {
    const ports = q.read(services, `${cluster}/${namespace}/${name}`)?.spec.ports ?? [];
    const targets = q.call(sliceEndpoints, { cluster, namespace, name }).flatMap((endpoint) => {
      const port = ports.find((candidate) => candidate.name === endpoint.portName);
      if (endpoint.addresses[0] !== address || port === undefined) return [];
      return [{ port: { name: port.name, number: port.port }, targetPort: endpoint.port }];
    });
    return idsOf(q, cluster, namespace, name).flatMap((service) => targets.map((target) => ({ service, ...target })));
  });
}

function targetsOfEntry(q: QueryContext, { cluster, namespace, labels, ports }: Workload): readonly ServiceTarget[] {
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
