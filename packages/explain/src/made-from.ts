import { allKinds, clusterKey, environment, meshConfig, meshNetworks } from "@istiod/config-schema";
import type { Collection, Database, ExplainedRead } from "@istiod/incremental";
import { fetchedJwks, type Proxy } from "@istiod/push-context";
import { resolvedHosts } from "@istiod/service-discovery";

/** An object that was read. */
export interface ObjectRead {
  /** Kubernetes kind, or `MeshConfig`, `MeshNetworks`, `Environment`, `ResolvedHost`, `Jwks`. */
  readonly kind: string;
  /** Empty for kinds without namespaces, and for what is no Kubernetes object. */
  readonly namespace: string;
  readonly name: string;
  /** ID of the cluster that it was read from, for kinds that each cluster has of its own. */
  readonly cluster?: string;
  /** Key in the collection of its kind. */
  readonly key: string;
  /** `absent`: it was asked for, and there is none. `candidate`: it was among several that were looked through. */
  readonly read: "present" | "absent" | "candidate";
  /** The revision of its last change, or of those it was looked through with. */
  readonly changedAt: number;
}

const collections: ReadonlyMap<string, Collection<unknown>> = new Map(
  [
    ...allKinds.map(({ collection }) => collection),
    environment,
    meshConfig,
    meshNetworks,
    resolvedHosts,
    fetchedJwks,
  ].map((of) => [of.name, of as Collection<unknown>]),
);

const clusterScoped = new Set(allKinds.filter(({ scope }) => scope === "cluster").map(({ kind }) => kind));
const ofEachCluster = new Set(allKinds.filter(({ key }) => key === clusterKey).map(({ kind }) => kind));

/** The collection of a kind of inputs. */
export function collectionNamed(name: string): Collection<unknown> | undefined {
  return collections.get(name);
}

/** The objects behind reads, each once, in order of first reading. */
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

/** The kinds of which all names, or all objects, were looked through. */
export function listsRead(reads: readonly ExplainedRead[]): readonly string[] {
  return [...new Set(reads.flatMap((read) => (read.kind === "all" || read.kind === "keys" ? [read.collection] : [])))];
}

/** The value of an input. */
export function valueOf(database: Database<Proxy>, { kind, key }: Pick<ObjectRead, "kind" | "key">): unknown {
  const collection = collections.get(kind);
  return collection && database.read(collection, key);
}

function nameOf(kind: string, key: string): Pick<ObjectRead, "namespace" | "name" | "cluster"> {
  const parts = key.split("/");
  if (ofEachCluster.has(kind)) {
    const [cluster = "", ...rest] = parts;
    return clusterScoped.has(kind)
      ? { cluster, namespace: "", name: rest.join("/") }
      : { cluster, namespace: rest[0] ?? "", name: rest.slice(1).join("/") };
  }
  return allKinds.some((each) => each.kind === kind) && !clusterScoped.has(kind)
    ? { namespace: parts[0] ?? "", name: parts.slice(1).join("/") }
    : { namespace: "", name: key };
}
