import { StatusError } from "../http/status-error.js";
import {
  nonNegative,
  type ListQuery,
  parseResourceVersion,
  selectorOf,
  tooLarge,
  validateListQuery,
} from "../storage/list.js";
import type { ApiObject } from "../storage/object.js";
import type { Predicate } from "../storage/selectors.js";
import type { ServerState, Target } from "../storage/server-state.js";
import { resourceKey, type StoredChange } from "../storage/store.js";
import { apiVersionOfTarget, asVersion } from "../storage/write.js";

/** Event of a watch. */
export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: unknown;
}

/** Options of a watch from its query. */
export interface WatchPlan {
  readonly matches: Predicate;
  /** Events before the first change: the objects of a snapshot, or an error that ends the watch. */
  readonly initial: readonly WatchEvent[];
  /** Changes after this revision follow. */
  readonly revision: number;
  readonly hasBookmarks: boolean;
  /** Seconds. Undefined: the server chooses. */
  readonly timeoutSeconds: number | undefined;
  readonly isFailed: boolean;
}

const flag = (query: ListQuery, name: string): boolean => ["1", "true"].includes(query.get(name) ?? "");

/**
 * Returns the beginning of a watch.
 *
 * @throws StatusError 400 and 422 for invalid parameters
 */
export function planWatch({ store }: ServerState, target: Target, query: ListQuery): WatchPlan {
  validateListQuery(query, true);
  const matches = selectorOf(query, target);
  const requested = parseResourceVersion(query.get("resourceVersion") ?? "");
  const hasBookmarks = flag(query, "allowWatchBookmarks");
  const timeout = nonNegative(query, "timeoutSeconds");
  const plan = { matches, hasBookmarks, timeoutSeconds: timeout === 0 ? undefined : timeout, isFailed: false };
  const sendInitialEvents = query.has("sendInitialEvents") ? flag(query, "sendInitialEvents") : undefined;
  if (sendInitialEvents ?? requested === 0) {
    if (requested > store.revision) throw tooLarge(requested, store.revision);
    const { items, revision } = store.list(resourceKey(target.type));
    const initial = items
      .filter(([, object]) => matches(object))
      .map(([, object]): WatchEvent => ({ type: "ADDED", object: asVersion(object, target) }));
    if (sendInitialEvents === true && hasBookmarks) initial.push(bookmark(target, revision, true));
    return { ...plan, initial, revision };
  }
  if (requested === 0) return { ...plan, initial: [], revision: store.revision };
  if (requested < store.compactedRevision) {
    const message = `too old resource version: ${requested} (${store.compactedRevision})`;
    return { ...plan, initial: [expired(message)], revision: requested, isFailed: true };
  }
  const missed = store.changesSince(resourceKey(target.type), requested);
  const initial = missed.flatMap((change) => eventOf(change, matches, target) ?? []);
  return { ...plan, initial, revision: Math.max(requested, store.revision) };
}

/** Returns the event that ends a watch whose history is compacted. */
export function expired(message: string): WatchEvent {
  return { type: "ERROR", object: new StatusError(410, "Expired", message).body };
}

/** Returns the event that a change is for a selector. Undefined if it is none. */
export function eventOf(change: StoredChange, matches: Predicate, target: Target): WatchEvent | undefined {
  const { object, previous, isDeleted } = change;
  const didMatch = previous !== undefined && matches(previous);
  if (isDeleted) return didMatch ? { type: "DELETED", object: asVersion(object, target) } : undefined;
  if (!matches(object)) {
    return didMatch ? { type: "DELETED", object: asVersion(atRevision(previous, change.revision), target) } : undefined;
  }
  return { type: didMatch ? "MODIFIED" : "ADDED", object: asVersion(object, target) };
}

const atRevision = (object: ApiObject, revision: number): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(revision) },
});

/** @param isInitialEnd Marks the end of the initial events. */
export function bookmark(target: Target, revision: number, isInitialEnd: boolean): WatchEvent {
  const annotations = isInitialEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {};
  const metadata = { resourceVersion: String(revision), creationTimestamp: null, ...annotations };
  return {
    type: "BOOKMARK",
    object: { kind: target.type.kind, apiVersion: apiVersionOfTarget(target), metadata },
  };
}
