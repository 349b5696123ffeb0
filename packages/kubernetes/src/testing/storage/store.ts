import type { ApiObject } from "./object.js";

/** Change of one object, as stored. */
export interface StoredChange {
  readonly revision: number;
  /** Group and plural of the type: see `resourceKey`. */
  readonly resource: string;
  /** Namespace and name: see `objectKey`. */
  readonly key: string;
  /** The object after the change. For deletions the last state with the resource version of the deletion. */
  readonly object: ApiObject;
  /** The object before the change. Undefined for creations. */
  readonly previous: ApiObject | undefined;
  readonly isDeleted: boolean;
}

export interface StoredList {
  /** By key, in the order of keys. */
  readonly items: readonly (readonly [key: string, object: ApiObject])[];
  readonly revision: number;
}

/** Returns the key of a type, in all of its versions. */
export function resourceKey(type: { readonly group: string; readonly plural: string }): string {
  return `${type.group}/${type.plural}`;
}

/** Returns the key of an object among those of its type. Keys sort like the paths in etcd. */
export function objectKey(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Key of the listeners of every type. */
const allResources = "*";

/** Objects with one sequence of revisions and a history, as etcd keeps them. Stored objects are never modified. */
export class Store {
  readonly #objects = new Map<string, Map<string, ApiObject>>();
  readonly #listeners = new Map<string, Set<(change: StoredChange) => void>>();
  readonly #historyLimit: number;
  #history: StoredChange[] = [];
  #revision: number;
  #compacted: number;

  /** @param historyLimit Number of changes after which the oldest half is compacted. */
  constructor(historyLimit: number) {
    this.#historyLimit = historyLimit;
    this.#revision = 1;
    this.#compacted = 1;
  }

  get revision(): number {
    return this.#revision;
  }

  /** The oldest revision that can be listed or watched from. */
  get compactedRevision(): number {
    return this.#compacted;
  }

  get(resource: string, key: string): ApiObject | undefined {
    return this.#objects.get(resource)?.get(key);
  }

  /** Returns the objects of a type now, in no particular order. */
  values(resource: string): readonly ApiObject[] {
    return [...(this.#objects.get(resource)?.values() ?? [])];
  }

  /**
   * Returns the objects of a type at a revision, sorted by key.
   *
   * @param revision Between `compactedRevision` and `revision`.
   */
  list(resource: string, revision = this.#revision): StoredList {
    const objects = new Map(this.#objects.get(resource) ?? []);
    for (let at = this.#history.length - 1; at >= 0; at -= 1) {
      const change = this.#history[at];
      if (change === undefined || change.revision <= revision) break;
      if (change.resource !== resource) continue;
      if (change.previous === undefined) objects.delete(change.key);
      else objects.set(change.key, change.previous);
    }
    return { items: [...objects].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)), revision };
  }

  /** Stores an object under the next revision, which becomes its resource version, and returns it. */
  put(resource: string, key: string, object: ApiObject): ApiObject {
    const previous = this.get(resource, key);
    const stored = this.#withNextVersion(object);
    let objects = this.#objects.get(resource);
    if (objects === undefined) this.#objects.set(resource, (objects = new Map()));
    objects.set(key, stored);
    this.#record({ revision: this.#revision, resource, key, object: stored, previous, isDeleted: false });
    return stored;
  }

  /** Deletes an object, and returns its last state with the resource version of the deletion. */
  remove(resource: string, key: string): ApiObject | undefined {
    const previous = this.get(resource, key);
    if (previous === undefined) return undefined;
    this.#objects.get(resource)?.delete(key);
    const object = this.#withNextVersion(previous);
    this.#record({ revision: this.#revision, resource, key, object, previous, isDeleted: true });
    return object;
  }

  /** Returns the changes of a type after a revision. */
  changesSince(resource: string, revision: number): readonly StoredChange[] {
    return this.#history.filter((change) => change.revision > revision && change.resource === resource);
  }

  /** Calls `listener` with every further change of a type, until the returned function is called. */
  subscribe(resource: string, listener: (change: StoredChange) => void): () => void {
    let listeners = this.#listeners.get(resource);
    if (listeners === undefined) this.#listeners.set(resource, (listeners = new Set()));
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** Calls `listener` with every further change, until the returned function is called. */
  subscribeAll(listener: (change: StoredChange) => void): () => void {
    return this.subscribe(allResources, listener);
  }

  /** Forgets the history up to now. */
  compact(): void {
    // A later revision separates what is known from what is forgotten, also where nothing has changed since.
    this.#revision += 1;
    this.#compacted = this.#revision;
    this.#history = [];
  }

  #withNextVersion(object: ApiObject): ApiObject {
    this.#revision += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } };
  }

  #record(change: StoredChange): void {
    this.#history.push(change);
    if (this.#history.length > this.#historyLimit) {
      const removed = this.#history.splice(0, Math.ceil(this.#history.length / 2));
      this.#compacted = removed.at(-1)?.revision ?? this.#compacted;
    }
    for (const resource of [change.resource, allResources]) {
      for (const listener of this.#listeners.get(resource) ?? []) listener(change);
    }
  }
}
