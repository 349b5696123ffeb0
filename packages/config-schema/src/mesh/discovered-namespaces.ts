import { query, type EntryFilter, type Collection, type QueryContext } from "@istiod/incremental";
import type { LabelSelector } from "@istiod/istio-api/mesh/v1alpha1/config";
import { namespaces } from "../kinds/kubernetes/namespace.js";
import { clusterIdVariable, environment } from "./environment.js";
import { matchesLabelSelector } from "./label-selector.js";
import { meshConfig, meshConfigKey } from "./mesh-config.js";

/** The part that a `QueryContext` and a `Database` have in common. */
type Reader = Pick<QueryContext, "read">;

/** A namespace of a cluster. */
export interface ClusterNamespace {
  readonly cluster: string;
  readonly namespace: string;
}

/** Returns the ID of the config cluster. */
export function configCluster(q: Reader): string {
  return q.read(environment, clusterIdVariable) || "Kubernetes";
}

/** Discovery selectors of the mesh configuration. Empty: all namespaces are discovered. */
const discoverySelectors = query("discoverySelectors", (q): readonly LabelSelector[] => selectorsOf(q));

/**
 * Reports whether a namespace of a cluster is discovered (`MeshConfig.discoverySelectors`): there are no selectors, or
 * one matches the labels of the cluster's own Namespace. The root namespace must match, too, and a namespace without a
 * Namespace object is not selected. Source: `pkg/kube/namespace/filter.go`.
 */
export const isDiscovered = query("isDiscovered", (q, at: ClusterNamespace): boolean =>
  isSelected(q, at, q.call(discoverySelectors)),
);

/**
 * Filter of every namespaced kind: hides objects of undiscovered namespaces from queries. Cluster-scoped kinds
 * (Namespace, Node, IngressClass) are not filtered.
 */
export const discoveryNamespacesFilter: EntryFilter = (q) =>
  q.call(discoverySelectors).length === 0 ? undefined : (key) => q.call(isDiscovered, placeOfKey(q, key));

/**
 * Returns the namespace because of which an entry of a collection is hidden from queries; undefined if it is visible.
 * Not for use in queries.
 */
export function undiscoveredNamespace(
  database: Reader,
  of: Collection<unknown>,
  key: string,
): ClusterNamespace | undefined {
  if (of.filter !== discoveryNamespacesFilter) return undefined;
  const place = placeOfKey(database, key);
  return isSelected(database, place, selectorsOf(database)) ? undefined : place;
}

/** Returns an entry of a collection as queries see it; undefined if its namespace is not discovered. */
export function readDiscovered<V>(database: Reader, of: Collection<V>, key: string): V | undefined {
  return undiscoveredNamespace(database, of, key) === undefined ? database.read(of, key) : undefined;
}

function selectorsOf(q: Reader): readonly LabelSelector[] {
  return q.read(meshConfig, meshConfigKey)?.discoverySelectors ?? [];
}

function isSelected(q: Reader, at: ClusterNamespace, selectors: readonly LabelSelector[]): boolean {
  if (selectors.length === 0) return true;
  const namespace = q.read(namespaces, `${at.cluster}/${at.namespace}`);
  return namespace !== undefined && selectsNamespace(selectors, namespace.labels);
}

/** Reports whether discovery selectors select a namespace with these labels. Without selectors, all are selected. */
export function selectsNamespace(
  selectors: readonly LabelSelector[],
  labels: Readonly<Record<string, string>>,
): boolean {
  return selectors.length === 0 || selectors.some((selector) => matchesLabelSelector(selector, labels));
}

/**
 * Returns the namespace and cluster of an object by its key. Objects that are unique in the mesh belong to the config
 * cluster.
 */
function placeOfKey(q: Reader, key: string): ClusterNamespace {
  const first = key.indexOf("/");
  const second = key.indexOf("/", first + 1);
  return second < 0
    ? { cluster: configCluster(q), namespace: key.slice(0, first) }
    : { cluster: key.slice(0, first), namespace: key.slice(first + 1, second) };
}
