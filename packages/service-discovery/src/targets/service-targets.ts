import { query } from "@istiod/incremental";
import { withTopology } from "../labels.js";
import type { Labels } from "../model/service.js";
import type { ServiceTarget, Workload } from "../model/workload.js";
import { keyOfId, service, splitKey } from "../services.js";
import { podWorkload } from "../workloads/pod-workload.js";
import { endpointsAt, entryTargets } from "./entry-targets.js";
import { kubernetesTargets } from "./kubernetes-targets.js";
import { clustersOfProxy, podKeyOfProxy } from "./pod-of-proxy.js";
import type { ProxyIdentity } from "./proxy-identity.js";

/**
 * The services that a proxy's workload implements, and the ports it does so on: the oldest service first, then by
 * hostname.
 */
export const serviceTargets = query("serviceTargets", (q, proxy: ProxyIdentity): readonly ServiceTarget[] => {
  const targets = [
    ...clustersOfProxy(q, proxy).flatMap((cluster) => kubernetesTargets(q, cluster, proxy)),
    ...entryTargets(q, proxy),
  ];
  const age = (target: ServiceTarget): number => q.call(service, target.service)?.creationTimestamp ?? 0;
  const host = (target: ServiceTarget): string => splitKey(keyOfId(target.service))[1];
  return targets
    .filter((target) => q.call(service, target.service) !== undefined)
    .sort((a, b) => age(a) - age(b) || (host(a) < host(b) ? -1 : host(a) > host(b) ? 1 : 0));
});

/** The workload behind a proxy as a pod, where it is one that is known. */
export const podOfProxy = query("podOfProxy", (q, proxy: ProxyIdentity): Workload | undefined => {
  for (const cluster of clustersOfProxy(q, proxy)) {
    const key = podKeyOfProxy(q, cluster, proxy);
    if (key !== undefined) return q.call(podWorkload, key);
  }
  return undefined;
});

/**
 * The labels that discovery knows of a proxy's workload, with its topology: of its pod, else of an endpoint of a
 * ServiceEntry at its address; undefined where it knows nothing, so that what the proxy says of itself counts. Source:
 * `GetProxyWorkloadLabels`.
 */
export const registeredLabels = query("registeredLabels", (q, proxy: ProxyIdentity): Labels | undefined => {
  const pod = q.call(podOfProxy, proxy);
  if (pod === undefined) return endpointsAt(q, proxy)[0]?.endpoint.labels;
  const { cluster, locality, network } = pod;
  return pod.nodeName === proxy.nodeName
    ? pod.labels
    : withTopology(pod.labels, { cluster, locality, nodeName: proxy.nodeName, network });
});
