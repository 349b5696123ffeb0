import {
  destinationRuleKind,
  type DestinationRuleObject,
  destinationRules,
  serviceEntries,
  serviceEntriesByHost,
  workloadEntries,
} from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import { features, isSubsetOfHost, isWildcard } from "@istiod/push-context";
import { hasLabels, kubernetesServicesByName } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { type DestinationHost, destinationHost, explainMissingHost } from "../../queries/destination-hosts.js";
import { explainMissingPods, selectedPods } from "../../queries/pods.js";
import { hasTopologyLabels, isAnyPodAtTopology } from "../../queries/pod-topology.js";

type Labels = Readonly<Record<string, string>>;

export const subsetSelectorAnalyzer: Analyzer = {
  name: "destinationrule.SubsetSelectPodAnalyzer",
  description: "Checks that the hosts of DestinationRules are services, and that their subsets select pods",
  codes: ["IST0173", "IST0174"],
  rules: [rule(destinationRuleKind, destinationRules, checkSubsets)],
};

function checkSubsets({ namespace, spec }: DestinationRuleObject, { q, report }: AnalysisContext): void {
  const reference = { host: spec.host, namespace, exportTo: spec.exportTo };
  const service = q.call(destinationHost, reference);
  if (service === undefined && !(isWildcard(spec.host) && q.call(isAnyServiceWithin, spec.host))) {
    report(
      "IST0174",
      ["spec", "host"],
      `unknown destination host ${JSON.stringify(spec.host)}, so the DestinationRule has no effect: ${explainMissingHost(q, reference)}`,
    );
    return;
  }
  for (const [i, { name, labels }] of spec.subsets.entries()) {
    if (isAnySelected(q, service, labels)) continue;
    const why = hasTopologyLabels(labels)
      ? "no pod has all of its labels, including the topology labels of its node"
      : explainMissingPods(q, { labels });
    report(
      "IST0173",
      ["spec", "subsets", i, "labels"],
      `subset ${JSON.stringify(name)} does not select any pods, so requests for it fail: ${why}`,
    );
  }
}

/** Reports whether a wildcard host matches the host of any service. */
const isAnyServiceWithin = query("isAnyServiceWithin", (q, wildcard: string): boolean => {
  const domain = features.domainSuffix(q);
  const hostOf = (key: string): string =>
    `${key.slice(key.indexOf("/") + 1)}.${key.slice(0, key.indexOf("/"))}.svc.${domain}`;
  return (
    q.keys(kubernetesServicesByName).some((key) => isSubsetOfHost(hostOf(key), wildcard)) ||
    q.keys(serviceEntriesByHost).some((host) => isSubsetOfHost(host, wildcard))
  );
});

const workloadEntriesByLabel = index(workloadEntries, "analysisByLabel", (entry) => [
  "",
  ...Object.entries({ ...entry.labels, ...entry.spec.labels }).map(([name, value]) => `${name}=${value}`),
]);

/** Reports whether a pod or a WorkloadEntry of the mesh has all of the labels. */
const isAnyWorkload = query("isAnyWorkload", (q, labels: Labels): boolean => {
  const pods = hasTopologyLabels(labels)
    ? q.call(isAnyPodAtTopology, labels)
    : q.call(selectedPods, { labels }).length > 0;
  if (pods) return true;
  const [first] = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return q
    .read(workloadEntriesByLabel, first ?? "")
    .some((entry) => hasLabels({ ...entry.labels, ...entry.spec.labels }, labels));
});

/**
 * Reports whether a subset selects a workload of the mesh or, for a ServiceEntry, a selected workload or a listed
 * endpoint.
 */
function isAnySelected(q: QueryContext, service: DestinationHost | undefined, labels: Labels): boolean {
  const entries = service?.serviceEntries.flatMap((key) => q.read(serviceEntries, key)?.spec ?? []) ?? [];
  if (entries.length === 0) return q.call(isAnyWorkload, labels);
  return entries.some(
    ({ endpoints, workloadSelector }) =>
      endpoints.some((endpoint) => hasLabels(endpoint.labels, labels)) ||
      q.call(isAnyWorkload, { ...workloadSelector?.labels, ...labels }),
  );
}
