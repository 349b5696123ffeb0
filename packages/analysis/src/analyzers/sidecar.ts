import { configCluster, namespaces, sidecarKind, type SidecarObject, sidecars } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import { hasLabels } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../analyzer.js";
import { listNames } from "../suggestions.js";
import { explainMissingPods, formatSelector, selectedPods } from "../queries/pods.js";

type Labels = Readonly<Record<string, string>>;

/** Analyzers of Sidecars. */
export const sidecarAnalyzers: readonly Analyzer[] = [
  {
    name: "sidecar.SelectorAnalyzer",
    description: "Checks that the selectors of Sidecars select pods that no other Sidecar selects",
    codes: ["IST0101", "IST0110", "IST0111", "IST0167"],
    rules: [
      rule(sidecarKind, sidecars, (sidecar, context) =>
        (Object.keys(selectorOf(sidecar)).length === 0 ? checkDefault : checkSelector)(sidecar, context),
      ),
    ],
  },
];

function selectorOf({ spec }: SidecarObject): Labels {
  return spec.workloadSelector?.labels ?? {};
}

/** Sidecars, indexed by namespace and the first label of the selector; by namespace if there is no selector. */
const bySelector = index(sidecars, "bySelector", (sidecar) => {
  const [first] = Object.keys(selectorOf(sidecar)).sort();
  return [first === undefined ? sidecar.namespace : `${sidecar.namespace} ${first}=${selectorOf(sidecar)[first]}`];
});

/** The Sidecars whose selectors select the pods of a namespace with these labels, oldest first. */
const selectingSidecars = query(
  "selectingSidecars",
  (q, { namespace, labels }: { readonly namespace: string; readonly labels: Labels }): readonly string[] => {
    const candidates = Object.entries(labels).flatMap(([name, value]) =>
      q.read(bySelector, `${namespace} ${name}=${value}`),
    );
    return candidates
      .filter((sidecar) => hasLabels(labels, selectorOf(sidecar)))
      .sort(byAge)
      .map(({ name }) => name);
  },
);

function checkSelector(sidecar: SidecarObject, { q, report }: AnalysisContext): void {
  const { namespace, name } = sidecar;
  const labels = selectorOf(sidecar);
  const pods = q.call(selectedPods, { namespace, labels });
  const path = ["spec", "workloadSelector", "labels"];
  if (pods.length === 0) {
    const selector = JSON.stringify(formatSelector(labels));
    report(
      "IST0101",
      [...path, ...Object.keys(labels).sort().slice(0, 1)],
      `referenced selector ${selector} not found: ${explainMissingPods(q, { namespace, labels })}`,
    );
    return;
  }
  if (pods.some(({ ambient }) => ambient))
    report("IST0167", path, "the Sidecar is ineffective: a selected workload is in ambient mode, which has no sidecar");
  const selecting = pods
    .filter(({ ambient }) => !ambient)
    .map((pod) => q.call(selectingSidecars, { namespace, labels: pod.labels }));
  const applied = new Set<string>();
  const others = new Set<string>();
  for (const names of selecting.filter(({ length }) => length > 1)) {
    applied.add(names[0] ?? "");
    for (const other of names) if (other !== name) others.add(other);
  }
  if (others.size === 0) return;
  const message = `conflicting workload selectors: Sidecar ${listNames([...others].sort())} selects some of the same pods of namespace ${namespace}, for which only the oldest applies, ${listNames([...applied].sort())}; make the selectors disjoint`;
  report("IST0110", path, message);
}

function checkDefault({ namespace, name }: SidecarObject, { q, report }: AnalysisContext): void {
  if (isAmbient(q, namespace)) {
    report(
      "IST0167",
      ["metadata", "name"],
      `the Sidecar is ineffective: namespace ${namespace} is in ambient mode, which has no sidecars`,
    );
    return;
  }
  const all = [...q.read(bySelector, namespace)].sort(byAge).map((sidecar) => sidecar.name);
  if (all.length < 2) return;
  const others = listNames(all.filter((other) => other !== name).sort());
  report(
    "IST0111",
    ["metadata", "name"],
    `Sidecar ${others} of namespace ${namespace} has no workloadSelector either, and only the oldest applies, ${all[0]}; keep one, or give the others a selector`,
  );
}

/** Reports whether pods of a namespace are redirected to node proxies and not injected. */
function isAmbient(q: QueryContext, namespace: string): boolean {
  const labels = q.read(namespaces, `${configCluster(q)}/${namespace}`)?.labels ?? {};
  if (labels["istio-injection"] === "enabled" || (labels["istio.io/rev"] ?? "") !== "") return false;
  return labels["istio.io/dataplane-mode"] === "ambient";
}

function byAge(a: SidecarObject, b: SidecarObject): number {
  return a.creationTimestamp - b.creationTimestamp || (a.name < b.name ? -1 : 1);
}
