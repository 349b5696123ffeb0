import { deployments, pods, workloadEntries } from "@istiod/config-schema";
import { rootNamespace } from "@istiod/push-context";
import { type Collection, index, type Index, query, type QueryContext } from "@istiod/incremental";

/** The labels of a pod, a Deployment's pod template, or a WorkloadEntry. */
export interface Workload {
  readonly kind: "Pod" | "Deployment" | "WorkloadEntry";
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

type Labels = Readonly<Record<string, string>>;

interface WorkloadSource {
  readonly byLabel: Index<unknown>;
  readonly byNamespace: Index<unknown>;
  workload(object: unknown): Workload;
}

/** The most selective labels. Candidates are found by one of them if a selector has it. */
const distinguishing = ["app", "app.kubernetes.io/name", "k8s-app", "name", "istio"];

const sources: readonly WorkloadSource[] = [
  workloadSource("Pod", pods, (pod) => pod.labels),
  workloadSource("Deployment", deployments, (deployment) => deployment.spec.templateLabels),
  workloadSource("WorkloadEntry", workloadEntries, (entry) => ({ ...entry.labels, ...entry.spec.labels })),
];

function workloadSource<O extends { readonly namespace: string; readonly name: string }>(
  kind: Workload["kind"],
  of: Collection<O>,
  labels: (object: O) => Labels,
): WorkloadSource {
  const byLabel = index(of, "byLabel", (object) =>
    Object.entries(labels(object)).map(([key, value]) => bucketOf(object.namespace, key, value)),
  );
  const byNamespace = index(of, "byNamespaceName", (object) => [object.namespace]);
  return {
    byLabel: byLabel as Index<unknown>,
    byNamespace: byNamespace as Index<unknown>,
    workload: (object) => ({
      kind,
      namespace: (object as O).namespace,
      name: (object as O).name,
      labels: labels(object as O),
    }),
  };
}

function bucketOf(namespace: string, key: string, value: string): string {
  return `${namespace}/${key}=${value}`;
}

/** Returns the workloads of a namespace that have all of the labels; all workloads if there are no labels. */
export function workloadsWith(q: QueryContext, namespace: string, labels: Labels): readonly Workload[] {
  const pairs = Object.entries(labels);
  const key = distinguishing.find((name) => name in labels) ?? pairs[0]?.[0];
  return sources.flatMap(({ byLabel, byNamespace, workload }) => {
    const found =
      key === undefined ? q.read(byNamespace, namespace) : q.read(byLabel, bucketOf(namespace, key, labels[key] ?? ""));
    return found.map(workload).filter((candidate) => pairs.every(([name, value]) => candidate.labels[name] === value));
  });
}

/** Reports whether a namespace has a workload with all of these labels. */
export const hasWorkload = query(
  "hasWorkload",
  (q, { namespace, labels }: { readonly namespace: string; readonly labels: Labels }): boolean =>
    workloadsWith(q, namespace, labels).length > 0,
);

/** Returns the namespaces that have workloads, sorted. */
export const namespacesWithWorkloads = query("namespacesWithWorkloads", (q): readonly string[] =>
  [...new Set(sources.flatMap(({ byNamespace }) => q.keys(byNamespace)))].sort(),
);

/** Reports whether any namespace has a workload with all of these labels. */
export const hasWorkloadAnywhere = query("hasWorkloadAnywhere", (q, labels: Labels): boolean =>
  q.call(namespacesWithWorkloads).some((namespace) => q.call(hasWorkload, { namespace, labels })),
);

/**
 * Reports whether the configuration contains workloads other than those of the installation. Files often contain
 * configuration only; then no workload is reported as missing.
 */
export const describesWorkloads = query("describesWorkloads", (q): boolean =>
  q.call(namespacesWithWorkloads).some((namespace) => namespace !== rootNamespace(q)),
);
