import { namespaces, type PodObject } from "@istiod/config-schema";
import { nearestNames } from "@istiod/settings";
import { index, type Index, query, type Query, type QueryContext } from "@istiod/incremental";
import { hasLabels } from "@istiod/service-discovery";
import { quotedNearest } from "../suggestions.js";
import { type Labels, type Workload, type WorkloadSource, workloadSources } from "./workload-sources.js";

/**
 * The properties of workloads that affect findings. Pods of one Deployment usually share a profile, so that replacing a
 * pod changes no finding.
 */
export interface PodProfile extends Omit<Workload, "kind" | "name"> {
  /** True for pods that a template describes. They may not exist yet. */
  readonly template?: boolean;
}

/** A set of labels that selects the pods with all of them. */
export interface PodSelector {
  /** Default: all namespaces. */
  readonly namespace?: string;
  /** If empty, all pods are selected. */
  readonly labels: Labels;
}

/**
 * Workloads of each kind, indexed by namespace and the profile as JSON. The namespace is a prefix so that it is read
 * without parsing.
 */
export const byProfile: readonly Index<unknown>[] = workloadSources.map((source) =>
  index(source.of, "byProfile", (object) => [bucketOf(profileOf(source, object))]),
);

const [podsByProfile] = byProfile as readonly [Index<PodObject>];

function bucketOf(profile: PodProfile): string {
  return `${profile.namespace} ${JSON.stringify(profile)}`;
}

function profileOf(source: WorkloadSource, object: unknown): PodProfile {
  const { kind: _, name: __, labels, ...profile } = source.workload(object);
  return { ...profile, labels: inOrder(labels), ...(source.template && { template: true }) };
}

/** Returns labels in order of their names. */
function inOrder(labels: Labels): Labels {
  const names = Object.keys(labels);
  if (names.every((name, i) => i === 0 || (names[i - 1] as string) < name)) return labels;
  return Object.fromEntries(names.sort().map((name) => [name, labels[name] as string]));
}

const bucketsByNamespace = query("podProfilesByNamespace", (q): ReadonlyMap<string, readonly string[]> => {
  const found = new Map<string, string[]>();
  for (const bucket of new Set(byProfile.flatMap((of) => q.keys(of)))) {
    const namespace = bucket.slice(0, bucket.indexOf(" "));
    const known = found.get(namespace);
    if (known === undefined) found.set(namespace, [bucket]);
    else known.push(bucket);
  }
  return found;
});

/** The buckets of one namespace, so that readers do not depend on other namespaces. */
const bucketsIn = query(
  "podProfileBucketsIn",
  (q, namespace: string): readonly string[] => q.call(bucketsByNamespace).get(namespace) ?? [],
);

export const namespacesWithPods = query("namespacesWithPods", (q): readonly string[] => [
  ...q.call(bucketsByNamespace).keys(),
]);

interface ProfileTable {
  readonly profiles: readonly PodProfile[];
  /** The profiles with a label, by `name=value`. */
  readonly byLabel: ReadonlyMap<string, readonly PodProfile[]>;
}

/** The profiles of the pods of a namespace. */
export const profilesIn = query("podProfilesIn", (q, namespace: string): ProfileTable => {
  return tableOf(
    q.call(bucketsIn, namespace).map((bucket) => JSON.parse(bucket.slice(namespace.length + 1)) as PodProfile),
  );
});

function tableOf(profiles: readonly PodProfile[]): ProfileTable {
  const byLabel = new Map<string, PodProfile[]>();
  for (const profile of profiles) {
    for (const [name, value] of Object.entries(profile.labels)) {
      const known = byLabel.get(`${name}=${value}`);
      if (known === undefined) byLabel.set(`${name}=${value}`, [profile]);
      else known.push(profile);
    }
  }
  return { profiles, byLabel };
}

/** The profiles of the pods that a selector selects. */
export const selectedPods: Query<PodSelector, readonly PodProfile[]> = query(
  "selectedPods",
  (q, { namespace, labels }) => {
    if (namespace === undefined) {
      return q.call(namespacesWithPods).flatMap((each) => q.call(selectedPods, { namespace: each, labels }));
    }
    const { profiles, byLabel } = q.call(profilesIn, namespace);
    let fewest = profiles;
    for (const [name, value] of Object.entries(labels)) {
      const having = byLabel.get(`${name}=${value}`) ?? [];
      if (having.length < fewest.length) fewest = having;
    }
    return fewest.filter((profile) => hasLabels(profile.labels, labels));
  },
);

/** Reports whether a selector selects any pod, so that readers do not depend on which. */
export const isAnyPod = query(
  "isAnyPod",
  (q, selector: PodSelector): boolean => q.call(selectedPods, selector).length > 0,
);

/** The values that workloads of all namespaces have of a label, sorted. */
export const labelValues = query("labelValuesOfWorkloads", (q, name: string): readonly string[] => {
  const profiles = q.call(namespacesWithPods).flatMap((namespace) => q.call(profilesIn, namespace).profiles);
  return [...new Set(profiles.flatMap(({ labels }) => labels[name] ?? []))].sort();
});

/** The service accounts with which workloads of a namespace run, sorted. */
export const serviceAccountsIn = query("serviceAccountsOfWorkloads", (q, namespace: string): readonly string[] => {
  const { profiles } = q.call(profilesIn, namespace);
  const accounts = profiles.flatMap(({ serviceAccount, machine }) => serviceAccount ?? (machine ? [] : "default"));
  return [...new Set(accounts)].sort();
});

/** Returns the pods of a profile. The caller then depends on the individual pods. */
export function podsOfProfile(q: QueryContext, profile: PodProfile): readonly PodObject[] {
  return q.read(podsByProfile, bucketOf(profile));
}

/** Returns the kind, namespace and name of the first workload of a profile: `Deployment shop/cart`. */
export function nameOfProfile(q: QueryContext, profile: PodProfile): string {
  const bucket = bucketOf(profile);
  for (const [i, { of, workload }] of workloadSources.entries()) {
    const [key] = q.members(byProfile[i] as Index<unknown>, bucket);
    const object = key === undefined ? undefined : q.read(of, key);
    if (object === undefined) continue;
    const { kind, namespace, name } = workload(object);
    return `${kind} ${namespace}/${name}`;
  }
  return `a workload of namespace ${profile.namespace}`;
}

/** Reports whether one of the selected pods has a sidecar, will be injected one, or is in ambient mode. */
export const isAnyPodInMesh = query("isAnyPodInMesh", (q, selector: PodSelector): boolean =>
  q.call(selectedPods, selector).some((profile) => profile.ambient || isInjected(q, profile)),
);

/** Reports whether a workload has a sidecar or will be injected one. */
export function isInjected(q: QueryContext, profile: PodProfile): boolean {
  const { namespace, cluster, sidecar, hostNetwork, inject, template } = profile;
  if (sidecar) return true;
  if (hostNetwork === true) return false;
  if (inject !== undefined) return inject === "true";
  const found = q.read(namespaces, `${cluster}/${namespace}`);
  // Pods of a template are injected when they are created, by the namespace that the files may not contain.
  if (found === undefined) return template === true;
  const { labels } = found;
  if (labels["istio-injection"] !== undefined) return labels["istio-injection"] === "enabled";
  return template === true && (labels["istio.io/rev"] ?? "") !== "";
}

/** Explains why a selector selects no pod: the label that no pod has, and similar values of that label. */
export function explainMissingPods(q: QueryContext, { namespace, labels }: PodSelector): string {
  const tables = (namespace === undefined ? q.call(namespacesWithPods) : [namespace]).map((each) =>
    q.call(profilesIn, each),
  );
  const known = new Set(tables.flatMap(({ byLabel }) => [...byLabel.keys()]));
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  for (const [name, value] of Object.entries(labels).sort()) {
    if (known.has(`${name}=${value}`)) continue;
    const values = [...known]
      .filter((label) => label.startsWith(`${name}=`))
      .map((label) => label.slice(name.length + 1));
    const near = nearestNames(value, values).map((other) => `${name}=${other}`);
    return `no pod${where} has the label ${name}=${value}${quotedNearest(near)}`;
  }
  return Object.keys(labels).length === 0 ? `there is no pod${where}` : `no pod${where} has all of these labels`;
}

/** Formats a selector in the syntax of `kubectl`: `name=value,…`, sorted by name. */
export function formatSelector(labels: Labels): string {
  return Object.keys(labels)
    .sort()
    .map((name) => `${name}=${labels[name]}`)
    .join(",");
}
