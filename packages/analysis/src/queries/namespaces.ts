import { namespaces } from "@istiod/config-schema";
import { nearestNames } from "@istiod/settings";
import { index, query, type QueryContext } from "@istiod/incremental";

const namespacesByName = index(namespaces, "byName", ({ name }) => [name]);

/** Reports whether the configuration contains Namespaces at all. Without any, none can be missed. */
const hasNamespaces = query("hasNamespaces", (q) => q.keys(namespacesByName).length > 0);

/** Namespaces that Kubernetes and an installation of Istio create, which files need not contain. */
const alwaysThere = new Set(["default", "kube-system", "kube-public", "kube-node-lease", "istio-system"]);

/**
 * Returns the sentence about a namespace that does not exist, with the nearest that does; undefined if it exists or
 * cannot be told.
 */
export function faultOfNamespace(q: QueryContext, name: string): string | undefined {
  if (!q.call(hasNamespaces) || alwaysThere.has(name) || q.read(namespacesByName, name).length > 0) return undefined;
  return `namespace ${JSON.stringify(name)} does not exist${didYouMean(name, q.keys(namespacesByName))}`;
}

/** Returns `; did you mean "…"?` with the best of the plausible candidates, or nothing. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const [nearest] = nearestNames(name, candidates, 1);
  return nearest === undefined ? "" : `; did you mean ${JSON.stringify(nearest)}?`;
}
