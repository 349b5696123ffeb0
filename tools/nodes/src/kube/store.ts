import { type ApiClient, Reflector, type ReflectorEvent, type ResourceType } from "@istiod/kubernetes";
import type { Stored } from "./objects.js";

/** Called after a change of an object: the new one, or undefined if it was deleted, and the one before. */
export type StoreListener<T> = (object: T | undefined, previous: T | undefined) => void;

/** The objects of a type, as the API server has them. */
export class Store<T extends Stored> {
  readonly #objects = new Map<string, T>();
  readonly #listeners: StoreListener<T>[] = [];
  readonly #reflector: Reflector<T>;
  /** Resolves when the first list is complete. */
  readonly synced: Promise<void>;

  constructor(
    client: ApiClient,
    readonly type: ResourceType,
    onError: (error: unknown) => void,
  ) {
    let resolve = (): void => {};
    this.synced = new Promise((done) => (resolve = done));
    this.#reflector = new Reflector<T>({
      client,
      resource: type,
      fields: { fields: true },
      handler: {
        events: (events) => events.forEach((event) => this.#receive(event)),
        state: ({ phase }) => phase === "synced" && resolve(),
      },
      onError,
    });
  }

  start(): void {
    this.#reflector.start();
  }

  stop(): void {
    this.#reflector.stop();
  }

  /** Adds a listener, and calls it with all objects. */
  listen(listener: StoreListener<T>): void {
    this.#listeners.push(listener);
    for (const object of this.#objects.values()) listener(object, undefined);
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): T[] {
    return [...this.#objects.values()];
  }

  /** Returns the objects of one namespace. */
  in(namespace: string): T[] {
    return this.values().filter(({ metadata }) => metadata.namespace === namespace);
  }

  /** Puts the answer to a write, so that the next decision is not made without it. Older versions are ignored. */
  put(object: T): void {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    const isOlder = previous && version(previous) >= version(object);
    if (isOlder && previous.metadata.uid === object.metadata.uid) return;
    this.#objects.set(key, object);
    this.#notify(object, previous);
  }

  /** Marks an object as being deleted, until the watch reports it. */
  expectDeletion(object: T): void {
    const deletionTimestamp = new Date().toISOString();
    const { metadata } = object;
    const key = keyOf(object);
    if (this.#objects.get(key)?.metadata.uid !== metadata.uid) return;
    this.#objects.set(key, { ...object, metadata: { deletionTimestamp, ...metadata } });
  }

  #receive(event: ReflectorEvent<T>): void {
    if (event.type === "set") return this.put(event.object);
    const key = event.namespace === "" ? event.name : `${event.namespace}/${event.name}`;
    const previous = this.#objects.get(key);
    if (!previous || previous.metadata.uid !== event.uid) return;
    this.#objects.delete(key);
    this.#notify(undefined, previous);
  }

  #notify(object: T | undefined, previous: T | undefined): void {
    for (const listener of this.#listeners) listener(object, previous);
  }
}

/** Returns the key of an object in its store: `namespace/name`, or the name. */
export function keyOf({ metadata: { namespace, name } }: Stored): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

function version({ metadata }: Stored): number {
  return Number(metadata.resourceVersion);
}
