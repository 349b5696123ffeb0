import { namespaces } from "@istiod/config-schema";
import { nearestNames } from "@istiod/settings";
import { index, query, type QueryContext } from "@istiod/incremental";

const namespacesByName = index(namespaces, "byName", ({ name }) => [name]);

/** Reports whether the configuration contains Namespaces. If not, no namespace is reported as missing. */
const hasNamespaces = query("hasNamespaces", (q) => q.keys(namespacesByName).length > 0);

/** Namespaces that Kubernetes and an installation of Istio create. Files need not contain them. */
const alwaysThere = new Set(["default", "kube-system", "kube-public", "kube-node-lease", "istio-system"]);

/**
 * Explains that a namespace does not exist, with a similar name if there is one; undefined if it exists or if the
 * configuration contains no Namespaces.
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
