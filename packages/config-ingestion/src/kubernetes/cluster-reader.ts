import type { SelectedFields } from "@istiod/config-schema";
import type { ResourceType } from "@istiod/kubernetes";

/** An object as a server has or had it. */
export interface ObjectVersion {
  /** Empty for objects of the whole cluster. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly object: Readonly<Record<string, unknown>>;
}

/** A change of an object. An object of the same name with another uid is reported as deleted first. */
export type ObjectEvent =
  | ({ readonly type: "set" } & ObjectVersion)
  | { readonly type: "delete"; readonly namespace: string; readonly name: string };

/**
 * Relation of the reported objects to those of the server. Only `syncing` and `synced` follow it: in the other phases
 * nothing is reported as deleted, and the attempts continue.
 */
export type WatchState =
  | { readonly phase: "syncing"; readonly error?: Error }
  | { readonly phase: "synced" }
  | { readonly phase: "stale"; readonly since: number; readonly error: Error }
  | { readonly phase: "forbidden" | "not-served"; readonly error: Error };

/** The objects of one type to follow. */
export interface WatchTarget {
  readonly resource: ResourceType;
  /** Default: all namespaces. */
  readonly namespace?: string;
  readonly fieldSelector?: string;
  /** Fields of the objects that are read. */
  readonly fields: SelectedFields;
}

export interface WatchHandler {
  events(events: readonly ObjectEvent[]): void;
  /** Called when the state changes, and after the events that led to it. */
  state(state: WatchState): void;
}

export interface ServedHandler {
  /**
   * Called with all types that the server serves, at first and whenever they change. `unknown` are API versions whose
   * types could not be read so far: they may be served. Default: none.
   */
  served(types: readonly ResourceType[], unknown?: ReadonlySet<string>): void;
  /** Called when they cannot be read. The attempts continue. */
  failed(error: Error): void;
}

/** Reads one cluster: the types that its API server serves, and their objects. */
export interface ClusterReader {
  /** Returns a function that stops. */
  followServed(handler: ServedHandler): () => void;
  /** Returns why the types of a kind are not among the served ones although it is defined. */
  reasonUnread?(kind: Pick<ResourceType, "group" | "kind">): string | undefined;
  /** Returns a function that stops. */
  watch(target: WatchTarget, handler: WatchHandler): () => void;
  /**
   * Returns the latest versions of objects: every write that the server confirmed before the call is among them.
   *
   * @throws Error if the server does not answer, or forbids it
   */
  list(target: Omit<WatchTarget, "fields">): Promise<readonly ObjectVersion[]>;
}
