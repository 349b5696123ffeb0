import { allKinds, clusterKey, environment, type Kind, meshConfig, meshNetworks } from "@istiod/config-schema";
import type { Collection, Database, ExplainedRead } from "@istiod/incremental";
import { fetchedJwks, jwksFetches, type Proxy } from "@istiod/push-context";
import { resolvedHosts } from "@istiod/service-discovery";

/** An object that was read. */
export interface ObjectRead {
  /**
   * Kubernetes kind; `RejectedAuthorizationPolicy` and the like for objects in place of rejected ones; `MeshConfig`,
   * `MeshNetworks`, `Environment`, `ResolvedHost`, `Jwks`, `JwksFetch`.
   */
  readonly kind: string;
  /** Empty for cluster-scoped kinds and for inputs that are not Kubernetes objects. */
  readonly namespace: string;
  readonly name: string;
  /** ID of the object's cluster, for kinds of which each cluster has objects of its own. */
  readonly cluster?: string;
  /** Key in the collection of its kind. */
  readonly key: string;
  /** `absent`: read by key and not found. `candidate`: read as a member of an index bucket. */
  readonly read: "present" | "absent" | "candidate";
  /** Revision of the last change of the object, or of the index bucket for candidates. */
  readonly changedAt: number;
}

/** Collections of the objects that apply in place of rejected ones. */
const substitutes = allKinds.flatMap(({ failClosed }) => failClosed?.collection ?? []);
const substituteKinds = new Set(substitutes.map(({ name }) => name));

const collections: ReadonlyMap<string, Collection<unknown>> = new Map(
  [
    ...allKinds.map(({ collection }) => collection),
    ...substitutes,
    environment,
    meshConfig,
    meshNetworks,
    resolvedHosts,
    fetchedJwks,
    jwksFetches,
  ].map((collection) => [collection.name, collection as Collection<unknown>]),
);

/** Names of the collections of kinds, which are their names unless several kinds have the same. */
const namesOf = (kinds: readonly Kind[]): ReadonlySet<string> =>
  new Set(kinds.map(({ collection }) => collection.name));
const kindNames = namesOf(allKinds);
const clusterScopedKinds = namesOf(allKinds.filter(({ scope }) => scope === "cluster"));
const perClusterKinds = namesOf(allKinds.filter(({ key }) => key === clusterKey));

/** Returns the input collection with a name; undefined if there is none. */
export function collectionNamed(name: string): Collection<unknown> | undefined {
  return collections.get(name);
}

/** Returns the objects behind reads, without repetition, in order of first reading. */
export function objectsRead(reads: readonly ExplainedRead[]): readonly ObjectRead[] {
  const found = new Map<string, ObjectRead>();
  const add = (kind: string, key: string, read: ObjectRead["read"], changedAt: number): void => {
    const id = `${kind} ${key}`;
    const known = found.get(id);
    if (known === undefined || known.read === "candidate")
      found.set(id, { kind, ...nameOf(kind, key), key, read, changedAt });
  };
  for (const read of reads) {
    if (read.kind === "entry") add(read.collection, read.key, read.present ? "present" : "absent", read.changedAt);
    if (read.kind === "bucket") read.members.forEach((key) => add(read.collection, key, "candidate", read.changedAt));
  }
  return [...found.values()];
}

/** Returns the kinds of which all names or all objects were listed. */
export function listedKinds(reads: readonly ExplainedRead[]): readonly string[] {
  return [...new Set(reads.flatMap((read) => (read.kind === "all" || read.kind === "keys" ? [read.collection] : [])))];
}

/** Returns the current value of an object; undefined if it does not exist. */
export function valueOf(database: Database<Proxy>, { kind, key }: Pick<ObjectRead, "kind" | "key">): unknown {
  const collection = collections.get(kind);
  return collection && database.read(collection, key);
}

function nameOf(kind: string, key: string): Pick<ObjectRead, "namespace" | "name" | "cluster"> {
  const parts = key.split("/");
  if (perClusterKinds.has(kind)) {
    const [cluster = "", ...rest] = parts;
    return clusterScopedKinds.has(kind)
      ? { cluster, namespace: "", name: rest.join("/") }
      : { cluster, namespace: rest[0] ?? "", name: rest.slice(1).join("/") };
  }
  return (kindNames.has(kind) && !clusterScopedKinds.has(kind)) || substituteKinds.has(kind)
    ? { namespace: parts[0] ?? "", name: parts.slice(1).join("/") }
    : { namespace: "", name: key };
}
