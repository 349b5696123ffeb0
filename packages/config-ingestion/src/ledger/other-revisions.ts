import { type Kind, type LocatedOther, otherRevisions, type OtherRevisionChange } from "@istiod/config-schema";
import { structurallyEqual } from "@istiod/incremental";

/** The objects of other revisions that files define. Of several definitions of one, any is reported. */
export class OtherRevisions {
  readonly #files = new Map<string, readonly LocatedOther[]>();
  #known = new Map<Kind, Map<string, LocatedOther>>();
  #hasChanged = false;

  /** Replaces what a file defines. */
  replaceFile(file: string, others: readonly LocatedOther[]): void {
    const before = this.#files.get(file) ?? [];
    if (before.length + others.length === 0) return;
    if (others.length > 0) this.#files.set(file, others);
    else this.#files.delete(file);
    this.#hasChanged = true;
  }

  /** Returns the differences since the last call. */
  takeChanges(): readonly OtherRevisionChange[] {
    if (!this.#hasChanged) return [];
    this.#hasChanged = false;
    const before = this.#known;
    this.#known = byKind([...this.#files.values()].flat());
    const changes: OtherRevisionChange[] = [];
    for (const kind of otherRevisions.keys()) {
      const [had, has] = [before.get(kind), this.#known.get(kind)];
      for (const key of had?.keys() ?? []) if (has?.has(key) !== true) changes.push({ kind, key, other: undefined });
      for (const [key, { other }] of has ?? [])
        if (!structurallyEqual(had?.get(key)?.other, other)) changes.push({ kind, key, other });
    }
    return changes;
  }

  /** Returns a place that defines an object of another revision. */
  locate(kind: Kind, key: string): LocatedOther | undefined {
    return this.#known.get(kind)?.get(key);
  }
}

function byKind(others: readonly LocatedOther[]): Map<Kind, Map<string, LocatedOther>> {
  const found = new Map<Kind, Map<string, LocatedOther>>();
  for (const other of others) {
    const ofKind = found.get(other.kind) ?? new Map<string, LocatedOther>();
    ofKind.set(other.key, other);
    found.set(other.kind, ofKind);
  }
  return found;
}
