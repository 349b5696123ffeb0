import { type ClusterNamespace, undiscoveredNamespace } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { collectionNamed, listedKinds, objectsRead } from "../provenance/objects-read.js";
import type { Producer } from "../provenance/producer.js";
import type { IgnoredConfig } from "./ignored-config.js";

/**
 * Returns objects that the producer would have read if their namespaces matched `discoverySelectors`: each object that
 * was read by key, and one entry named `*` per kind and namespace for kinds of which all objects were listed.
 */
export function undiscoveredObjects(database: Database<Proxy>, { reads }: Producer): readonly IgnoredConfig[] {
  const readByKey = objectsRead(reads).flatMap(({ kind, namespace, name, cluster, key, read }) => {
    const undiscovered = read === "absent" ? undefined : undiscoveredNamespaceOf(database, kind, key);
    return undiscovered === undefined
      ? []
      : [
          {
            kind,
            namespace,
            name,
            ...(cluster !== undefined && { cluster }),
            reason: `is not discovered: ${reason(undiscovered)}`,
          },
        ];
  });
  return [...readByKey, ...listedKinds(reads).flatMap((kind) => undiscoveredOfKind(database, kind))];
}

function undiscoveredOfKind(database: Database<Proxy>, kind: string): readonly IgnoredConfig[] {
  const collection = collectionNamed(kind);
  const counts = new Map<string, { readonly undiscovered: ClusterNamespace; count: number }>();
  for (const key of collection === undefined ? [] : database.keys(collection)) {
    const undiscovered = undiscoveredNamespaceOf(database, kind, key);
    if (undiscovered === undefined) continue;
    const id = `${undiscovered.cluster}/${undiscovered.namespace}`;
    const known = counts.get(id);
    if (known === undefined) counts.set(id, { undiscovered, count: 1 });
    else known.count++;
  }
  return [...counts.values()].map(({ undiscovered, count }) => ({
    kind,
    namespace: undiscovered.namespace,
    name: "*",
    cluster: undiscovered.cluster,
    reason: `(${count}) not discovered: ${reason(undiscovered)}`,
  }));
}

function undiscoveredNamespaceOf(database: Database<Proxy>, kind: string, key: string): ClusterNamespace | undefined {
  const collection = collectionNamed(kind);
  return collection && undiscoveredNamespace(database, collection, key);
}

function reason({ namespace, cluster }: ClusterNamespace): string {
  return `no discoverySelector of the mesh configuration selects namespace ${namespace} of cluster ${cluster}`;
}
