import type { Transaction } from "@istiod/incremental";
import type { ConfigObject } from "./config-object.js";
import type { Kind } from "./kinds/kind.js";
import { type ObjectOfOtherRevision, otherRevisions } from "./other-revisions.js";

/** A new version of an object, or its removal. */
export interface ObjectChange {
  readonly kind: Kind;
  /** Key in the kind's collection. */
  readonly key: string;
  /** Undefined if the object was removed. */
  readonly object: ConfigObject<unknown, unknown> | undefined;
  /** True if the object substitutes for a rejected one: see `Kind.failClosed`. Default false. */
  readonly isSubstitute?: boolean;
}

/** An object that belongs to another revision from now on, or no longer. */
export interface OtherRevisionChange {
  readonly kind: Kind;
  /** Key in the kind's collection. */
  readonly key: string;
  /** Undefined if no such object is left. */
  readonly other: ObjectOfOtherRevision | undefined;
}

/** Writes changes into the collections of their kinds: `database.commit((tx) => applyChanges(tx, changes))`. */
export function applyChanges(tx: Transaction, changes: readonly (ObjectChange | OtherRevisionChange)[]): void {
  for (const change of changes) {
    const { kind, key } = change;
    if ("other" in change) {
      const others = otherRevisions.get(kind);
      if (others !== undefined && change.other !== undefined) tx.set(others, key, change.other);
      else if (others !== undefined) tx.delete(others, key);
      continue;
    }
    const { object, isSubstitute = false } = change;
    const collection = isSubstitute ? kind.failClosed?.collection : kind.collection;
    if (collection === undefined) continue;
    if (object === undefined) tx.delete(collection, key);
    else tx.set(collection, key, object);
  }
}

/**
 * Writes the accepted objects of a text into the collections of their kinds: `database.commit((tx) => setObjects(tx,
 * reading.objects))`. Rejected objects are skipped.
 */
export function setObjects(tx: Transaction, objects: readonly ObjectChange[]): void {
  for (const { kind, key, object } of objects) if (object !== undefined) tx.set(kind.collection, key, object);
}
