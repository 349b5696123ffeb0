import { type Collection, collection, type Database, type Query } from "@istiod/incremental";
import type { FieldTree, KubernetesObject, ResourceType } from "@istiod/kubernetes";
import type { Write } from "./write.js";

/** Objects of the API server that a controller observes, as an input of its queries. */
export interface Watch<V = unknown> {
  readonly type: ResourceType;
  /** Receives the objects, by `namespace/name`, or by `name` if the type is cluster-scoped. */
  readonly collection: Collection<Observed<V>>;
  /** Fields that `select` reads. */
  readonly fields: FieldTree;
  /**
   * Returns the fields that the controller's queries read. Undefined: the object is treated as absent. `before` is the
   * value for the former state of the object, for controllers that need its history.
   */
  readonly select: (object: KubernetesObject, before: V | undefined) => V | undefined;
  /** Returns the value that remains of a deleted object. Default: none. */
  readonly deleted?: (before: V) => V | undefined;
  /** Default: all namespaces. */
  readonly namespace?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

/** The database of a running controller, as its inputs use it. Observers must not commit. */
export type ControllerDatabase = Pick<Database<void>, "commit" | "read" | "keys" | "observe">;

/** Has the empty key once all watches have listed their objects. */
export const allObserved: Collection<boolean> = collection<boolean>("AllObserved");

/** Watched types that the API server does not serve, by `group/kind`. */
export const notServed: Collection<boolean> = collection<boolean>("NotServed");

/** An object as it was last observed. */
export interface Observed<V> {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly value: V;
}

/**
 * The desired state of some objects, and the writes that lead to it. It is pure: its queries read the watched objects
 * and the other inputs, and nothing else.
 */
export interface Controller {
  /** Name in log lines, such as `namespace controller`. Also the field manager of its writes, if none is given. */
  readonly name: string;
  readonly fieldManager?: string;
  /** Maximum number of writes in flight. Default: 10. */
  readonly concurrency?: number;
  readonly watches: readonly Watch[];
  /** Commits inputs from outside the API server, and keeps them current. Returns a function that ends this. */
  readonly inputs?: (database: ControllerDatabase) => () => void;
  /** Keys of the objects that may have to be written. */
  readonly targets: Query<void, readonly string[]>;
  /** The write that an object needs. Undefined: the observed object is as desired. */
  readonly write: Query<string, Write | undefined>;
}
