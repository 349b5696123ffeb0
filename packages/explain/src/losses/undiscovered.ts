import { type ClusterNamespace, undiscoveredNamespace } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { collectionNamed, listsRead, objectsRead } from "../made-from.js";
import type { Maker } from "../maker.js";
import type { Loss } from "./loss.js";

/**
 * What was there to be read and is seen by nobody, since its namespace is not discovered: single objects, and of a kind
 * whose names were looked through all of a namespace at once, as `*`.
 */
export function undiscoveredObjects(database: Database<Proxy>, { reads }: Maker): readonly Loss[] {
  const single = objectsRead(reads).flatMap(({ kind, namespace, name, cluster, key, read }) => {
    const at = read === "absent" ? undefined : hiding(database, kind, key);
    return at === undefined
      ? []
      : [{ kind, namespace, name, ...(cluster !== undefined && { cluster }), reason: `is not seen: ${why(at)}` }];
  });
  return [...single, ...listsRead(reads).flatMap((kind) => unseenOfKind(database, kind))];
}

function unseenOfKind(database: Database<Proxy>, kind: string): readonly Loss[] {
  const collection = collectionNamed(kind);
  const found = new Map<string, { readonly at: ClusterNamespace; count: number }>();
  for (const key of collection === undefined ? [] : database.keys(collection)) {
    const at = hiding(database, kind, key);
    if (at === undefined) continue;
    const id = `${at.cluster}/${at.namespace}`;
    const known = found.get(id);
    if (known === undefined) found.set(id, { at, count: 1 });
    else known.count++;
  }
  return [...found.values()].map(({ at, count }) => ({
    kind,
    namespace: at.namespace,
    name: "*",
    cluster: at.cluster,
    reason: `(${count}) not seen: ${why(at)}`,
  }));
}

function hiding(database: Database<Proxy>, kind: string, key: string): ClusterNamespace | undefined {
  const collection = collectionNamed(kind);
  return collection && undiscoveredNamespace(database, collection, key);
}

function why({ namespace, cluster }: ClusterNamespace): string {
  return `no discoverySelector of the mesh configuration selects namespace ${namespace} of cluster ${cluster}`;
}
