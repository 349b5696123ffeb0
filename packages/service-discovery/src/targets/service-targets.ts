import { query } from "@istiod/incremental";
import { withTopology } from "../labels.js";
import type { Labels } from "../model/service.js";
import type { ServiceTarget, Workload } from "../model/workload.js";
import { keyOfId, service, splitKey } from "../services.js";
import { podWorkload } from "../workloads/pod-workload.js";
import { endpointsAt, entryTargets } from "./entry-targets.js";
import { kubernetesTargets } from "./kubernetes-targets.js";
import { candidateClusters, proxyPodKey } from "./proxy-pod.js";
import type { ProxyIdentity } from "./proxy-identity.js";

/**
 * The service ports that a proxy's workload implements, with target ports: the oldest service first, then by hostname.
 */
export const serviceTargets = query("serviceTargets", (q, proxy: ProxyIdentity): readonly ServiceTarget[] => {
  const targets = [
    ...candidateClusters(q, proxy).flatMap((cluster) => kubernetesTargets(q, cluster, proxy)),
    ...entryTargets(q, proxy),
  ];
  const age = (target: ServiceTarget): number => q.call(service, target.service)?.creationTimestamp ?? 0;
  const host = (target: ServiceTarget): string => splitKey(keyOfId(target.service))[1];
  return targets
    .filter((target) => q.call(service, target.service) !== undefined)
    .sort((a, b) => age(a) - age(b) || (host(a) < host(b) ? -1 : host(a) > host(b) ? 1 : 0));
});

/** The workload of a proxy's pod; undefined if there is none. */
export const proxyPod = query("proxyPod", (q, proxy: ProxyIdentity): Workload | undefined => {
  for (const cluster of candidateClusters(q, proxy)) {
    const key = proxyPodKey(q, cluster, proxy);
    if (key !== undefined) return q.call(podWorkload, key);
  }
  return undefined;
});

/**
 * The registered labels of a proxy's workload with topology labels: of its pod, else of a ServiceEntry endpoint at its
 * address; undefined if unknown, in which case the labels in node metadata are used. Source: `GetProxyWorkloadLabels`.
 */
export const registeredLabels = query("registeredLabels", (q, proxy: ProxyIdentity): Labels | undefined => {
  const pod = q.call(proxyPod, proxy);
  if (pod === undefined) return endpointsAt(q, proxy)[0]?.endpoint.labels;
  const { cluster, locality, network } = pod;
  return pod.nodeName === proxy.nodeName
    ? pod.labels
    : withTopology(pod.labels, { cluster, locality, nodeName: proxy.nodeName, network });
});
