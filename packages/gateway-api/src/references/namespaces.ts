import {
  configCluster,
  matchesLabelSelector,
  type NamespaceObject,
  namespaces,
  type ObjectSelector,
} from "@istiod/config-schema";
import { query } from "@istiod/incremental";

/** Label with a namespace's own name, which API servers set. */
const nameLabel = "kubernetes.io/metadata.name";

/** Names of the config cluster's namespaces whose labels match a selector, in alphabetical order. */
export const selectedNamespaces = query(
  "gatewayApiSelectedNamespaces",
  (q, selector: ObjectSelector): readonly string[] => {
    const cluster = configCluster(q);
    return q
      .all(namespaces)
      .filter((namespace) => namespace.cluster === cluster && isSelected(namespace, selector))
      .map(({ name }) => name)
      .sort();
  },
);

/** Reports whether a selector matches a namespace of the config cluster. */
export const isSelectedNamespace = query(
  "gatewayApiIsSelectedNamespace",
  (q, { name, selector }: { readonly name: string; readonly selector: ObjectSelector }): boolean => {
    const namespace = q.read(namespaces, `${configCluster(q)}/${name}`);
    return namespace !== undefined && isSelected(namespace, selector);
  },
);

function isSelected({ name, labels }: NamespaceObject, selector: ObjectSelector): boolean {
  return matchesLabelSelector(selector, { ...labels, [nameLabel]: name });
}
