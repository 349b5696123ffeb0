import type { ConfigObject, Kind, LocatedObject, ObjectChange, Problem } from "@istiod/config-schema";
import { structurallyEqual } from "@istiod/incremental";
import { decide } from "./decision.js";
import { byPlace, conflict } from "./definitions.js";
import type { RejectedRecord } from "./enforced-instead.js";
import type { StoreChanges, StoredVersion, StoredVersions } from "./stored-versions.js";

interface ObjectRecord {
  /** Definitions by path and line. The first is the one that applies. */
  definitions: LocatedObject[];
  active: ConfigObject<unknown, unknown> | undefined;
  /** The last good version: the last one that applied as the first definition. */
  lastGood: ConfigObject<unknown, unknown> | undefined;
  /** The object that applies in addition, because the first definition is rejected and has no good version. */
  substitute: ConfigObject<unknown, unknown> | undefined;
  /** The stored version that is active because the first definition is rejected. */
  stored: StoredVersion | undefined;
}

/** The objects that files define, with the definition of each that applies. */
export class DefinedObjects {
  readonly #records = new Map<Kind, Map<string, ObjectRecord>>();
  readonly #changedKeys = new Map<Kind, Set<string>>();
  readonly #conflictingKeys = new Map<Kind, Set<string>>();
  readonly #stored: StoredVersions | undefined;
  #storeChanges: StoreChanges = { accepted: [], deleted: [] };

  /** @param stored undefined: last good versions are kept in memory only */
  constructor(stored: StoredVersions | undefined) {
    this.#stored = stored;
  }

  /** Replaces definitions by others. */
  replace(before: readonly LocatedObject[], after: readonly LocatedObject[]): void {
    const kept = new Set(after);
    const previous = new Set(before);
    for (const definition of previous)
      if (!kept.has(definition)) this.#edit(definition, (all) => all.filter((d) => d !== definition));
    for (const definition of kept)
      if (!previous.has(definition)) this.#edit(definition, (all) => [...all, definition].sort(byPlace));
  }

  /** Returns the objects that became active or were removed since the last call. */
  takeChanges(): readonly ObjectChange[] {
    const changes: ObjectChange[] = [];
    for (const [kind, keys] of this.#changedKeys) {
      const records = this.#records.get(kind);
      for (const key of keys) {
        const record = records?.get(key);
        if (record === undefined) continue;
        const { active, substitute } = record;
        this.#update(record, kind, key);
        if (this.#stored !== undefined && kind.failClosed !== undefined) this.#noteStoreChange(record, kind, key);
        if (record.definitions.length === 0) records?.delete(key);
        if (record.active !== active) changes.push({ kind, key, object: record.active });
        if (record.substitute !== substitute)
          changes.push({ kind, key, object: record.substitute, isSubstitute: true });
      }
    }
    this.#changedKeys.clear();
    return changes;
  }

  /** Returns what the changes taken last mean for stored versions, once. */
  takeStoreChanges(): StoreChanges {
    const changes = this.#storeChanges;
    this.#storeChanges = { accepted: [], deleted: [] };
    return changes;
  }

  /** Marks rejected objects as possibly changed, because stored versions changed. */
  reconsiderRejected(): void {
    for (const { kind, key } of this.rejected()) getOrCreate(this.#changedKeys, kind, () => new Set<string>()).add(key);
  }

  /** Returns the definitions of an object by path and line; the first applies. */
  definitionsOf(kind: Kind, key: string): readonly LocatedObject[] {
    return this.#records.get(kind)?.get(key)?.definitions ?? [];
  }

  /** Yields the rejected objects of kinds that restrict, with what applies instead. */
  *rejected(): Generator<RejectedRecord> {
    for (const [kind, records] of this.#records) {
      if (kind.failClosed === undefined) continue;
      for (const [key, record] of records) {
        const [first] = record.definitions;
        if (first === undefined || first.object !== undefined) continue;
        if (record.active !== undefined || record.substitute !== undefined) yield { kind, key, first, record };
      }
    }
  }

  /** Yields a problem for each definition of an object that another place defines first. */
  *conflicts(): Generator<Problem> {
    for (const [kind, keys] of this.#conflictingKeys) {
      for (const key of keys) {
        const [first, ...others] = this.definitionsOf(kind, key);
        if (first !== undefined) for (const other of others) yield conflict(other, first);
      }
    }
  }

  /** Returns the number of active objects of each kind. */
  counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const [kind, records] of this.#records) {
      let count = 0;
      for (const record of records.values()) if (record.active !== undefined) count++;
      if (count > 0) counts.set(kind.kind, count);
    }
    return counts;
  }

  /** Yields the active objects, and the definitions that could become active. */
  *live(): Generator<unknown> {
    for (const records of this.#records.values()) {
      for (const { definitions, active } of records.values()) {
        if (active !== undefined) yield active;
        for (const { object } of definitions) if (object !== undefined && object !== active) yield object;
      }
    }
  }

  #edit({ kind, key }: LocatedObject, edit: (definitions: LocatedObject[]) => LocatedObject[]): void {
    const records = getOrCreate(this.#records, kind, () => new Map<string, ObjectRecord>());
    const record = getOrCreate(records, key, newRecord);
    record.definitions = edit(record.definitions);
    getOrCreate(this.#changedKeys, kind, () => new Set<string>()).add(key);
    const conflicting = getOrCreate(this.#conflictingKeys, kind, () => new Set<string>());
    if (record.definitions.length > 1) conflicting.add(key);
    else conflicting.delete(key);
  }

  #update(record: ObjectRecord, kind: Kind, key: string): void {
    const stored = kind.failClosed === undefined ? undefined : this.#stored?.lastGood(kind, key);
    const decision = decide(kind, record.definitions, record.lastGood, stored);
    // A stored version is decoded again whenever it is read, and often equals the active object.
    const isKept = decision.stored !== undefined && structurallyEqual(record.active, decision.active);
    record.active = isKept ? record.active : decision.active;
    record.lastGood = decision.lastGood;
    record.substitute = decision.substitute;
    record.stored = decision.stored;
  }

  #noteStoreChange({ definitions: [first] }: ObjectRecord, kind: Kind, key: string): void {
    if (first === undefined) this.#storeChanges.deleted.push({ kind, key });
    else if (first.object !== undefined)
      this.#storeChanges.accepted.push({ kind, key, object: first.object, file: first.file });
  }
}

function newRecord(): ObjectRecord {
  return { definitions: [], active: undefined, lastGood: undefined, substitute: undefined, stored: undefined };
}

function getOrCreate<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = create()));
  return value;
}
