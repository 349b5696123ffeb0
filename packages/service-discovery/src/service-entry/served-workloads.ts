import {
  type PodObject,
  pods,
  serviceEntries,
  type ServiceEntryObject,
  workloadEntriesByNamespace,
} from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import { hasLabels } from "../labels.js";
import type { Workload } from "../model/workload.js";
import { settings } from "../settings/features.js";
import { isSelectable, podWorkload } from "../workloads/pod-workload.js";
import { entryWorkload } from "../workloads/workload-entry.js";
import { addressesOf } from "./convert-service-entry.js";
import { resolutionOf } from "./resolution.js";

/** The workloads that are endpoints of a ServiceEntry with a selector, and those that are left out. */
export interface ServedWorkloads {
  readonly workloads: readonly Workload[];
  /** Number of selected workloads beyond the bound. */
  readonly leftOut: number;
  /** The numbers and the variable that raises the bound; absent if none is left out. */
  readonly reason?: string;
}

/**
 * The workloads that are endpoints of a ServiceEntry (`namespace/name`) with a selector, at each of its hosts, ports
 * and addresses. Neither the ServiceEntry nor a workload is wrong by itself: the first workloads within the bound of
 * endpoints are served.
 */
export const servedWorkloads = query("servedWorkloads", (q, key: string): ServedWorkloads => {
  const entry = q.read(serviceEntries, key);
  if (entry === undefined) return { workloads: [], leftOut: 0 };
  const { hosts, ports } = entry.spec;
  const resolution = resolutionOf(entry);
  const resolvesByDns = resolution === "DNSLB" || resolution === "DNSRoundRobinLB";
  const workloads = selectedWorkloads(q, entry).filter(({ dnsOnly }) => resolvesByDns || !dnsOnly);
  const addresses = resolution === "DNSRoundRobinLB" ? 1 : addressesOf(entry).length;
  const each = hosts.length * ports.length * addresses;
  const bound = settings.maxEndpoints(q);
  if (workloads.length * each <= bound) return { workloads, leftOut: 0 };
  const count = Math.floor(bound / each);
  return {
    workloads: workloads.slice(0, count),
    leftOut: workloads.length - count,
    reason: `${hosts.length} hosts × ${ports.length} ports × ${addresses} addresses × ${workloads.length} workloads = ${each * workloads.length} endpoints, of at most ${bound} (${settings.maxEndpoints.variable})`,
  };
});

/** Pods by namespace, across clusters. */
const podsByNamespace = index(pods, "byNamespaceOfAllClusters", ({ namespace }) => [namespace]);

/**
 * Returns the pods and WorkloadEntries that a ServiceEntry selects in its namespace, across clusters: pods first, then
 * by name. As that of a Service, a selector without labels selects none.
 */
function selectedWorkloads(q: QueryContext, entry: ServiceEntryObject): readonly Workload[] {
  const { namespace } = entry;
  const selector = entry.spec.workloadSelector?.labels ?? {};
  if (Object.keys(selector).length === 0) return [];
  const selectedPods = settings.serviceEntrySelectsPods(q)
    ? q
        .read(podsByNamespace, namespace)
        .filter((pod) => isSelectable(pod))
        .flatMap((pod) => selectablePod(q, pod))
    : [];
  const entries = q
    .read(workloadEntriesByNamespace, namespace)
    .flatMap(({ cluster, name }) => q.call(entryWorkload, `${cluster}/${namespace}/${name}`) ?? []);
  return [...selectedPods.sort(byNameAndCluster), ...entries.sort(byNameAndCluster)].filter(({ labels }) =>
    hasLabels(labels, selector),
  );
}

/** Returns a pod's workload, with the addresses of its second family only under dual stack. */
function selectablePod(q: QueryContext, { cluster, namespace, name }: PodObject): readonly Workload[] {
  const workload = q.call(podWorkload, `${cluster}/${namespace}/${name}`);
  if (workload === undefined) return [];
  return [
    workload.addresses.length < 2 || settings.dualStack(q)
      ? workload
      : { ...workload, addresses: workload.addresses.slice(0, 1) },
  ];
}

function byNameAndCluster(a: Workload, b: Workload): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : a.cluster < b.cluster ? -1 : 1;
}
