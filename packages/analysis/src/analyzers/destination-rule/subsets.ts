import {
  destinationRuleKind,
  type DestinationRuleObject,
  destinationRules,
  serviceEntries,
  serviceEntriesByHost,
  virtualServices,
} from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import { features, isSubsetOfHost, isWildcard, resolveHost } from "@istiod/push-context";
import { aliasedHost, hasLabels, kubernetesServicesByName } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { type DestinationHost, destinationHost, explainMissingHost } from "../../queries/destination-hosts.js";
import { explainMissingPods, isAnyPod } from "../../queries/pods.js";
import { routeDestinations } from "../virtual-service/destinations.js";
import { hasTopologyLabels, isAnyPodAtTopology } from "../../queries/pod-topology.js";

type Labels = Readonly<Record<string, string>>;

export const subsetSelectorAnalyzer: Analyzer = {
  name: "destinationrule.SubsetSelectPodAnalyzer",
  description: "Checks that the hosts of DestinationRules are services, and that their subsets select pods",
  codes: ["IST0173", "IST0174", "MESH0042"],
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
  const aliased = q.call(aliasedHost, resolvedHost(q, spec.host, namespace));
  if (aliased !== undefined) {
    report(
      "IST0174",
      ["spec", "host"],
      `destination host ${JSON.stringify(spec.host)} is an alias (ExternalName), so the DestinationRule has no effect: clients have the cluster of the service that it stands for; write the rule for ${JSON.stringify(aliased)}`,
    );
    return;
  }
  for (const [i, { name, labels, trafficPolicy }] of spec.subsets.entries()) {
    if (isAnySelected(q, service, labels)) {
      if (
        trafficPolicy !== undefined &&
        !q.call(isRouted, { host: resolvedHost(q, spec.host, namespace), subset: name })
      )
        report(
          "MESH0042",
          ["spec", "subsets", i, "trafficPolicy"],
          `the policy of subset ${JSON.stringify(name)} has no effect, because no route leads to the subset: requests of its workloads get the trafficPolicy of the rule; add a VirtualService that routes to the subset`,
          "Info",
        );
      continue;
    }
    const why = hasTopologyLabels(labels)
      ? "no pod has all of its labels, including the topology labels of its node"
      : explainMissingPods(q, { labels });
    const path = ["spec", "subsets", i, "labels"];
    const subset = `subset ${JSON.stringify(name)} does not select any pods`;
    if (q.call(isRouted, { host: resolvedHost(q, spec.host, namespace), subset: name }))
      report("IST0173", path, `${subset}, so requests for it fail: ${why}`);
    else report("IST0173", path, `${subset}, which no route leads to: ${why}`, "Info");
  }
}

/** VirtualServices with a route to a subset, indexed by the subset's name. */
const bySubset = index(virtualServices, "byRoutedSubset", ({ spec }) => [
  ...new Set(routeDestinations(spec).flatMap(({ subset }) => (subset === "" ? [] : [subset]))),
]);

/** The fully qualified hosts of which routes lead to a subset with a name. All rules with such a subset read it. */
const routedHosts = query("hostsOfRoutedSubset", (q, subset: string): ReadonlySet<string> => {
  const destinations = q.read(bySubset, subset).flatMap(({ namespace, spec }) =>
    routeDestinations(spec)
      .filter((destination) => destination.subset === subset)
      .map(({ host }) => resolvedHost(q, host, namespace)),
  );
  return new Set(destinations);
});

/** Reports whether a route leads to a subset of a host, or of one that a wildcard host matches. */
const isRouted = query("isSubsetRouted", (q, to: { readonly host: string; readonly subset: string }): boolean => {
  const hosts = q.call(routedHosts, to.subset);
  return hosts.has(to.host) || (isWildcard(to.host) && [...hosts].some((host) => isSubsetOfHost(host, to.host)));
});

function resolvedHost(q: QueryContext, host: string, namespace: string): string {
  return resolveHost(host, { namespace, domain: features.domainSuffix(q) });
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

/** Reports whether a workload of the mesh has all of the labels. */
function isAnyWorkload(q: QueryContext, labels: Labels): boolean {
  return hasTopologyLabels(labels) ? q.call(isAnyPodAtTopology, labels) : q.call(isAnyPod, { labels });
}

/**
 * Reports whether a subset selects a workload of the mesh or, for a ServiceEntry, a selected workload or a listed
 * endpoint.
 */
function isAnySelected(q: QueryContext, service: DestinationHost | undefined, labels: Labels): boolean {
  const entries = service?.serviceEntries.flatMap((key) => q.read(serviceEntries, key)?.spec ?? []) ?? [];
  if (entries.length === 0) return isAnyWorkload(q, labels);
  return entries.some(
    ({ endpoints, workloadSelector }) =>
      endpoints.some((endpoint) => hasLabels(endpoint.labels, labels)) ||
      isAnyWorkload(q, { ...workloadSelector?.labels, ...labels }),
  );
}
