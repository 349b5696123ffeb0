import type { ApiError } from "../api-error.js";

/** A change of an object. An object of the same name with another uid is reported as deleted first. */
export type ReflectorEvent<T> =
  | {
      readonly type: "set";
      /** Empty for objects of the whole cluster. */
      readonly namespace: string;
      readonly name: string;
      readonly uid: string;
      readonly resourceVersion: string;
      /** The fields of the projection, with `apiVersion` and `kind`. */
      readonly object: T;
    }
  | { readonly type: "delete"; readonly namespace: string; readonly name: string; readonly uid: string };

/**
 * Relation of the reported objects to those of the server.
 *
 * - `syncing`: the first list is not complete. `error` is why the last attempt failed
 * - `synced`: the first list is complete, and changes are reported as they happen
 * - `stale`: changes cannot be received since a time, in milliseconds since the epoch. No object is reported as deleted
 * - `forbidden`, `not-served`: the server answers with 403 or 404. Reported objects remain, as with `stale`
 */
export type ReflectorState =
  | { readonly phase: "syncing"; readonly error?: ApiError }
  | { readonly phase: "synced" }
  | { readonly phase: "stale"; readonly since: number; readonly error: ApiError }
  | { readonly phase: "forbidden" | "not-served"; readonly error: ApiError };

/** Receives the objects of a reflector. Exceptions are reported to `onError`, and do not stop the reflector. */
export interface ReflectorHandler<T> {
  /** Called with at least one event, in order. */
  events(events: readonly ReflectorEvent<T>[]): void;
  /** Called when the state changes, and after the events that led to it. */
  state(state: ReflectorState): void;
}
