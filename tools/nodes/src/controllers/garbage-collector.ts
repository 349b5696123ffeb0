import { ApiError, apiVersionOf, deleteObject, patchObject, readObject } from "@istiod/kubernetes";
import type { ClusterState } from "../kube/cluster-state.js";
import { discoverType } from "../kube/discover-type.js";
import type { OwnerReference, Stored } from "../kube/objects.js";
import { keyOf, Store } from "../kube/store.js";
import { WorkQueue } from "../kube/work-queue.js";

const FOREGROUND = "foregroundDeletion";
const ORPHAN = "orphan";

/**
 * Deletes objects all of whose owners are gone, and lets owners go that wait for their dependents. Only types that the
 * nodes follow are collected. The types of other owners are followed from the first owner of each; an owner of a type
 * that is not served counts as existing.
 */
export function startGarbageCollector(cluster: ClusterState): () => void {
  const { stores } = cluster;
  const storeOf = new Map(stores.map((store) => [store.type.plural, store]));
  const queue = new WorkQueue(async (item) => {
    const at = item.indexOf(" ");
    const store = storeOf.get(item.slice(0, at));
    const object = store?.get(item.slice(at + 1));
    if (store && object) await collect(cluster, owners, store, object);
  }, cluster.report);
  const owners = new OwnerStores(cluster, ({ metadata }) => {
    for (const [type, dependent] of dependentsOf(stores, metadata.uid)) add(type, dependent);
  });
  const add = (store: Store<Stored>, object: Stored): void => queue.add(`${store.type.plural} ${keyOf(object)}`);
  for (const store of stores)
    store.listen((object, previous) => {
      if (object?.metadata.ownerReferences || object?.metadata.deletionTimestamp) add(store, object);
      if (!object && previous) {
        for (const [type, dependent] of dependentsOf(stores, previous.metadata.uid)) add(type, dependent);
        for (const owner of previous.metadata.ownerReferences ?? []) {
          const found = findOwner(stores, previous, owner);
          if (found) add(...found);
        }
      }
    });
  return () => {
    queue.stop();
    owners.stop();
  };
}

/** The objects of types that the nodes follow only because others have them as owners. */
class OwnerStores {
  readonly #cluster: ClusterState;
  readonly #deleted: (owner: Stored) => void;
  readonly #stores = new Map<string, Promise<Store<Stored> | undefined>>();
  readonly #started: Store<Stored>[] = [];

  /** @param deleted called for each object that is deleted */
  constructor(cluster: ClusterState, deleted: (owner: Stored) => void) {
    this.#cluster = cluster;
    this.#deleted = deleted;
  }

  /** Returns the store of an owner's type; undefined if the type is not served. */
  of({ apiVersion, kind }: OwnerReference): Promise<Store<Stored> | undefined> {
    const key = `${apiVersion} ${kind}`;
    const known = this.#stores.get(key);
    if (known) return known;
    const store = this.#follow(apiVersion, kind);
    this.#stores.set(key, store);
    // A type that is not served may be served later.
    const forget = (): unknown => this.#stores.delete(key);
    store.then((found) => found ?? forget(), forget);
    return store;
  }

  async #follow(apiVersion: string, kind: string): Promise<Store<Stored> | undefined> {
    const { client, report } = this.#cluster;
    const type = await discoverType(client, apiVersion, kind).catch(ignoreNotFound);
    if (!type) return undefined;
    const store = new Store<Stored>(client, type, report);
    this.#started.push(store);
    store.listen((object, previous) => !object && previous && this.#deleted(previous));
    store.start();
    await store.synced;
    return store;
  }

  stop(): void {
    for (const store of this.#started) store.stop();
  }
}

function ignoreNotFound(error: unknown): undefined {
  if (error instanceof ApiError && error.code === "not-found") return undefined;
  throw error;
}

type Found = [Store<Stored>, Stored];

function dependentsOf(stores: readonly Store<Stored>[], owner: string): Found[] {
  return stores.flatMap((store) =>
    store
      .values()
      .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === owner))
      .map((object): Found => [store, object]),
  );
}

function ownerStore(stores: readonly Store<Stored>[], { apiVersion, kind }: OwnerReference): Store<Stored> | undefined {
  return stores.find(({ type }) => type.kind === kind && apiVersionOf(type) === apiVersion);
}

function findOwner(stores: readonly Store<Stored>[], dependent: Stored, owner: OwnerReference): Found | undefined {
  const store = ownerStore(stores, owner);
  const { namespace } = dependent.metadata;
  const object = store?.get(store.type.namespaced ? `${namespace}/${owner.name}` : owner.name);
  return store && object?.metadata.uid === owner.uid ? [store, object] : undefined;
}

async function collect(
  cluster: ClusterState,
  owners: OwnerStores,
  store: Store<Stored>,
  object: Stored,
): Promise<void> {
  const { uid, deletionTimestamp, finalizers = [], ownerReferences = [] } = object.metadata;
  if (deletionTimestamp !== undefined && finalizers.includes(ORPHAN)) return await orphan(cluster, store, object);
  if (deletionTimestamp !== undefined && finalizers.includes(FOREGROUND)) {
    const dependents = dependentsOf(cluster.stores, uid);
    for (const [type, dependent] of dependents)
      if (dependent.metadata.deletionTimestamp === undefined) await remove(cluster, type, dependent, "Foreground");
    if (dependents.length === 0) await dropFinalizer(cluster, store, object, FOREGROUND);
    return;
  }
  if (deletionTimestamp !== undefined || ownerReferences.length === 0) return;
  for (const owner of ownerReferences) if (await exists(cluster, owners, object, owner)) return;
  await remove(cluster, store, object, "Background");
}

/** Reports whether an owner exists, by the API server where the store does not have it. */
async function exists(
  cluster: ClusterState,
  owners: OwnerStores,
  dependent: Stored,
  owner: OwnerReference,
): Promise<boolean> {
  const store = ownerStore(cluster.stores, owner) ?? (await owners.of(owner));
  if (!store || findOwner([store], dependent, owner)) return true;
  const { namespace } = dependent.metadata;
  const name = store.type.namespaced ? { namespace, name: owner.name } : { name: owner.name };
  try {
    return (await readObject<Stored>(cluster.client, store.type, name)).metadata.uid === owner.uid;
  } catch (error) {
    ignoreNotFound(error);
    return false;
  }
}

async function remove(
  { client }: ClusterState,
  { type }: Store<Stored>,
  { metadata }: Stored,
  propagationPolicy: "Background" | "Foreground",
): Promise<void> {
  const { name, namespace, uid } = metadata;
  const target = type.namespaced ? { name, namespace } : { name };
  await deleteObject(client, type, target, { uid, propagationPolicy });
}

async function orphan(cluster: ClusterState, store: Store<Stored>, object: Stored): Promise<void> {
  for (const [type, { metadata }] of dependentsOf(cluster.stores, object.metadata.uid)) {
    const { name, namespace, uid, ownerReferences = [] } = metadata;
    const left = ownerReferences.filter((owner) => owner.uid !== object.metadata.uid);
    const merge = { metadata: { uid, ownerReferences: left } };
    await patchObject(cluster.client, type.type, type.type.namespaced ? { name, namespace } : { name }, { merge });
  }
  await dropFinalizer(cluster, store, object, ORPHAN);
}

async function dropFinalizer(
  { client }: ClusterState,
  { type }: Store<Stored>,
  { metadata }: Stored,
  finalizer: string,
) {
  const { name, namespace, uid, resourceVersion, finalizers = [] } = metadata;
  const merge = { metadata: { uid, resourceVersion, finalizers: finalizers.filter((one) => one !== finalizer) } };
  await patchObject(client, type, type.namespaced ? { name, namespace } : { name }, { merge });
}
