import { rootNamespace } from "@istiod/push-context";
import { type Index, index, query, type QueryContext } from "@istiod/incremental";
import { type Labels, type Workload, type WorkloadSource, workloadSources } from "./workload-sources.js";

/** The most selective labels. Candidates are found by one of them if a selector has it. */
const distinguishing = ["app", "app.kubernetes.io/name", "k8s-app", "name", "istio"];

interface IndexedSource extends WorkloadSource {
  readonly byLabel: Index<unknown>;
  readonly byNamespace: Index<unknown>;
}

const sources: readonly IndexedSource[] = workloadSources.map((source) => ({
  ...source,
  byLabel: index(source.of, "byLabel", (object) => {
    const namespace = source.namespace(object);
    return Object.entries(source.labels(object)).map(([key, value]) => bucketOf(namespace, key, value));
  }),
  byNamespace: index(source.of, "byNamespaceName", (object) => [source.namespace(object)]),
}));

/** The indexes by which workloads are found. */
export const workloadIndexes = sources.flatMap(({ byLabel, byNamespace }) => [byNamespace, byLabel]);

function bucketOf(namespace: string, key: string, value: string): string {
  return `${namespace}/${key}=${value}`;
}

/**
 * The sources that have workloads in a namespace, as positions in `sources`. Most namespaces have workloads of a few
 * kinds only, so that the others are not searched for each selector.
 */
const sourcesIn = query("workloadSourcesIn", (q, namespace: string): readonly number[] =>
  sources.flatMap(({ byNamespace }, i) => (q.members(byNamespace, namespace).length > 0 ? [i] : [])),
);

/** Returns the workloads of a namespace that have all of the labels; all workloads if there are no labels. */
export function workloadsWith(q: QueryContext, namespace: string, labels: Labels): readonly Workload[] {
  const pairs = Object.entries(labels);
  const key = distinguishing.find((name) => name in labels) ?? pairs[0]?.[0];
  return q.call(sourcesIn, namespace).flatMap((source) => {
    const { byLabel, byNamespace, workload } = sources[source] as IndexedSource;
    const found =
      key === undefined ? q.read(byNamespace, namespace) : q.read(byLabel, bucketOf(namespace, key, labels[key] ?? ""));
    return found
      .map((object) => workload(object))
      .filter((candidate) => pairs.every(([name, value]) => candidate.labels[name] === value));
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
