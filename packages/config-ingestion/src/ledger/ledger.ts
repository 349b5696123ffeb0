import { createHash } from "node:crypto";
import {
  type ConfigObject,
  type DecodeOptions,
  type FieldPath,
  type Kind,
  type LocatedObject,
  moveReading,
  type ObjectChange,
  type Problem,
  readDocument,
  type Reading,
  type ReadOptions,
  documentsOf,
  subjectOf,
  type UnparsedPolicy,
} from "@istiod/config-schema";
import { structurallyEqual } from "@istiod/incremental";
import { enforcedInstead, type RejectedRecord } from "./enforced-instead.js";
import type { RejectedPolicy, StoreChanges, StoredVersion, StoredVersions } from "./stored-versions.js";
import { StringPool } from "./string-pool.js";

/** The place where an object is defined. */
export interface Location {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Path of the object in its document; not empty for an item of a List. */
  readonly path: FieldPath;
}

/** A file with more documents than allowed. */
export class TooManyDocumentsError extends Error {
  constructor(maxDocuments: number) {
    super(`has more than ${maxDocuments} documents (--maxConfigFileDocuments)`);
    this.name = "TooManyDocumentsError";
  }
}

interface DocumentRecord {
  readonly digest: string;
  readonly line: number;
  readonly reading: Reading;
}

interface FileRecord {
  readonly documents: readonly DocumentRecord[];
  /** Definitions in the file, the first of each key. Without `object` if it is rejected or unreadable now. */
  readonly definitions: readonly LocatedObject[];
  readonly problems: readonly Problem[];
  /** True if it is unknown which objects the file, or a document of it, defines. */
  readonly isPartial: boolean;
}

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

export interface LedgerOptions extends DecodeOptions {
  /** Default: last good versions are kept in memory only. */
  readonly stored?: StoredVersions;
}

/**
 * Records which file defines which object. A document that is rejected affects its own objects only: their last good
 * version stays active, and so do the objects of a document that cannot be parsed. The ledger performs no I/O; it is
 * given the text of files.
 */
export class Ledger {
  readonly #files = new Map<string, FileRecord>();
  readonly #objects = new Map<Kind, Map<string, ObjectRecord>>();
  readonly #changedKeys = new Map<Kind, Set<string>>();
  readonly #conflictingKeys = new Map<Kind, Set<string>>();
  readonly #strings = new StringPool();
  readonly #options: ReadOptions;

  readonly #stored: StoredVersions | undefined;
  #storeChanges: StoreChanges = { accepted: [], deleted: [] };

  constructor({ stored, ...options }: LedgerOptions = {}) {
    this.#options = { ...options, strings: this.#strings };
    this.#stored = stored;
  }

  /** Number of strings that are pooled for sharing between objects. */
  get pooledStrings(): number {
    return this.#strings.size;
  }

  /** Reports whether a file defines any object. */
  hasDefinitions(file: string): boolean {
    return (this.#files.get(file)?.definitions.length ?? 0) > 0;
  }

  /** Records a file's current text. Documents with unchanged text are not parsed again. */
  replaceFile(file: string, text: string): void {
    this.#replaceDocuments(file, [...this.#readDocuments(file, text)]);
  }

  /**
   * Records a file's current text as `replaceFile` does, and lets other work run in between. Only one file may be read
   * at a time.
   *
   * @param pause called after each document; a promise is awaited
   * @throws TooManyDocumentsError before anything is recorded
   */
  async replaceFileInSlices(
    file: string,
    text: string,
    { maxDocuments = Infinity, pause }: { readonly maxDocuments?: number; pause(): Promise<void> | undefined },
  ): Promise<void> {
    const documents: DocumentRecord[] = [];
    for (const document of this.#readDocuments(file, text)) {
      documents.push(document);
      if (documents.length > maxDocuments) throw new TooManyDocumentsError(maxDocuments);
      const paused = pause();
      if (paused !== undefined) await paused;
    }
    this.#replaceDocuments(file, documents);
  }

  #replaceDocuments(file: string, documents: readonly DocumentRecord[]): void {
    const before = this.#files.get(file);
    const readings = documents.map((document) => document.reading);
    const problems = readings.flatMap((reading) => reading.problems);
    const definitions = new Map<string, LocatedObject>();
    for (const object of readings.flatMap((reading) => reading.objects)) {
      const id = identityOf(object);
      const first = definitions.get(id);
      if (first === undefined) definitions.set(id, object);
      else problems.push(conflict(object, first));
    }
    const isPartial = readings.some((reading) => reading.unreadable);
    if (isPartial) keepPrevious(definitions, before?.definitions ?? []);
    this.#recordFile(file, { documents, definitions: [...definitions.values()], problems, isPartial });
  }

  /**
   * Records that a file exists and cannot be read: its objects keep their last good version.
   *
   * @param policies the policies that the file appears to define
   */
  markUnreadable(file: string, message: string, policies: readonly UnparsedPolicy[] = []): void {
    const definitions = new Map<string, LocatedObject>();
    for (const { kind, substitute, isUnnamed } of policies) {
      const object = {
        kind,
        key: kind.key(substitute),
        object: undefined,
        file,
        line: 0,
        path: [],
        substitute,
        isUnnamed,
      };
      definitions.set(identityOf(object), object);
    }
    keepPrevious(definitions, this.#files.get(file)?.definitions ?? []);
    const problems: Problem[] = [{ severity: "error", file, line: 0, path: [], message }];
    this.#recordFile(file, { documents: [], definitions: [...definitions.values()], problems, isPartial: true });
  }

  /** Records that a file is gone. Objects that no other file defines are removed. */
  removeFile(file: string): void {
    this.#recordFile(file, undefined);
  }

  /** Returns the objects that became active or were removed since the last call. */
  takeChanges(): readonly ObjectChange[] {
    const changes: ObjectChange[] = [];
    for (const [kind, keys] of this.#changedKeys) {
      const records = this.#objects.get(kind);
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
    this.#strings.removeUnused(() => this.#liveObjects());
    return changes;
  }

  /** Reports whether it is known which objects every file defines. */
  get isComplete(): boolean {
    return ![...this.#files.values()].some(({ isPartial }) => isPartial);
  }

  /** Reports whether any file defines an object, also if it is rejected. */
  isDefined(kind: Kind, key: string): boolean {
    return (this.#objects.get(kind)?.get(key)?.definitions.length ?? 0) > 0;
  }

  /** Adds the objects that files which cannot be read defined when another process last read them. */
  addStoredDefinitions(): void {
    for (const [file, record] of this.#files) {
      if (!record.isPartial) continue;
      const missing = (this.#stored?.definedIn(file) ?? []).filter(({ kind, key }) => !this.isDefined(kind, key));
      if (missing.length === 0) continue;
      const definitions = new Map(record.definitions.map((definition) => [identityOf(definition), definition]));
      keepPrevious(definitions, missing);
      this.#recordFile(file, { ...record, definitions: [...definitions.values()] });
    }
  }

  /** Returns what the changes taken last mean for stored versions, once. */
  takeStoreChanges(): StoreChanges {
    const changes = this.#storeChanges;
    this.#storeChanges = { accepted: [], deleted: [] };
    return changes;
  }

  /** Marks rejected objects as possibly changed, because stored versions changed. */
  reconsiderRejected(): void {
    for (const { kind, key } of this.rejectedPolicies())
      getOrCreate(this.#changedKeys, kind, () => new Set<string>()).add(key);
  }

  /** Returns the rejected objects of kinds that restrict, with what applies instead. */
  rejectedPolicies(): readonly RejectedPolicy[] {
    return [...this.#rejectedRecords()].map(({ kind, key, first, record }) => ({
      kind,
      key,
      file: first.file,
      line: first.line,
      enforced: record.stored !== undefined ? "stored" : record.substitute !== undefined ? "fail-closed" : "last-good",
    }));
  }

  /** Returns all current problems, by path and line. */
  problems(): readonly Problem[] {
    const problems = [...this.#files.values()].flatMap((file) => file.problems);
    for (const rejected of this.#rejectedRecords()) problems.push(...enforcedInstead(rejected));
    for (const [kind, keys] of this.#conflictingKeys) {
      for (const key of keys) {
        const [first, ...others] = this.#objects.get(kind)?.get(key)?.definitions ?? [];
        if (first !== undefined) problems.push(...others.map((other) => conflict(other, first)));
      }
    }
    return problems.sort(byPlace);
  }

  /** Returns the number of active objects of each kind. */
  counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const [kind, records] of this.#objects) {
      let count = 0;
      for (const record of records.values()) if (record.active !== undefined) count++;
      if (count > 0) counts.set(kind.kind, count);
    }
    return counts;
  }

  /** Returns the number of objects of each kind that is not read. */
  ignored(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { documents } of this.#files.values()) {
      for (const { reading } of documents)
        for (const [kind, count] of reading.ignored) counts.set(kind, (counts.get(kind) ?? 0) + count);
    }
    return counts;
  }

  /** Returns the place that defines an active object, by its kind and its key in the kind's collection. */
  locate(kind: Kind, key: string): Location | undefined {
    return this.#objects.get(kind)?.get(key)?.definitions[0];
  }

  #noteStoreChange({ definitions: [first] }: ObjectRecord, kind: Kind, key: string): void {
    if (first === undefined) this.#storeChanges.deleted.push({ kind, key });
    else if (first.object !== undefined)
      this.#storeChanges.accepted.push({ kind, key, object: first.object, file: first.file });
  }

  *#rejectedRecords(): Generator<RejectedRecord & { readonly record: ObjectRecord }> {
    for (const [kind, records] of this.#objects) {
      if (kind.failClosed === undefined) continue;
      for (const [key, record] of records) {
        const [first] = record.definitions;
        if (first === undefined || first.object !== undefined) continue;
        if (record.active !== undefined || record.substitute !== undefined) yield { kind, key, first, record };
      }
    }
  }

  /**
   * Decides what applies: the first definition; if that is rejected, the last good version; without one, the first
   * accepted definition, and for kinds that restrict the substitute of the rejected one as well.
   */
  #update(record: ObjectRecord, kind: Kind, key: string): void {
    const [first] = record.definitions;
    record.stored = undefined;
    record.substitute = undefined;
    if (first === undefined) {
      record.active = undefined;
      return;
    }
    if (first.object !== undefined) {
      record.active = record.lastGood = first.object;
      return;
    }
    const stored = kind.failClosed === undefined ? undefined : this.#stored?.lastGood(kind, key);
    if (typeof stored === "object") {
      record.stored = stored;
      record.active = structurallyEqual(record.active, stored.object) ? record.active : stored.object;
      return;
    }
    if (stored === "none") record.lastGood = undefined;
    const accepted = record.definitions.find((definition) => definition.object !== undefined)?.object;
    if (kind.failClosed === undefined) record.lastGood ??= accepted;
    else if (record.lastGood === undefined) record.substitute = first.substitute;
    record.active = record.lastGood ?? accepted;
  }

  *#readDocuments(file: string, text: string): Generator<DocumentRecord> {
    const known = new Map(this.#files.get(file)?.documents.map((document) => [document.digest, document]));
    for (const document of documentsOf(text)) {
      const digest = createHash("sha1").update(document.text).digest("base64");
      const unchanged = known.get(digest);
      const reading =
        unchanged === undefined
          ? readDocument(document, file, this.#options)
          : moveReading(unchanged.reading, document.line - unchanged.line);
      yield { digest, line: document.line, reading };
    }
  }

  /** Yields the active objects, and the definitions that could become active. */
  *#liveObjects(): Generator<unknown> {
    for (const records of this.#objects.values()) {
      for (const { definitions, active } of records.values()) {
        if (active !== undefined) yield active;
        for (const { object } of definitions) if (object !== undefined && object !== active) yield object;
      }
    }
  }

  #recordFile(file: string, after: FileRecord | undefined): void {
    const before = this.#files.get(file);
    if (after === undefined) this.#files.delete(file);
    else this.#files.set(file, after);
    const kept = new Set(after?.definitions);
    const previous = new Set(before?.definitions);
    for (const definition of previous)
      if (!kept.has(definition)) this.#edit(definition, (all) => all.filter((d) => d !== definition));
    for (const definition of kept)
      if (!previous.has(definition)) this.#edit(definition, (all) => [...all, definition].sort(byPlace));
  }

  #edit({ kind, key }: LocatedObject, edit: (definitions: LocatedObject[]) => LocatedObject[]): void {
    const records = getOrCreate(this.#objects, kind, () => new Map<string, ObjectRecord>());
    const record = getOrCreate(records, key, newRecord);
    record.definitions = edit(record.definitions);
    getOrCreate(this.#changedKeys, kind, () => new Set<string>()).add(key);
    const conflicting = getOrCreate(this.#conflictingKeys, kind, () => new Set<string>());
    if (record.definitions.length > 1) conflicting.add(key);
    else conflicting.delete(key);
  }
}

function newRecord(): ObjectRecord {
  return { definitions: [], active: undefined, lastGood: undefined, substitute: undefined, stored: undefined };
}

/**
 * Adds the previous definitions of a file of which a part cannot be read. An unnamed rejected object is taken for one
 * of them if there is one of its kind and namespace.
 */
function keepPrevious(definitions: Map<string, LocatedObject>, previous: readonly LocatedObject[]): void {
  const kept = previous.filter(({ isUnnamed = false, ...d }) => !isUnnamed && !definitions.has(identityOf(d)));
  for (const [id, { isUnnamed = false, kind, substitute }] of definitions)
    if (isUnnamed && kept.some((d) => d.kind === kind && namespaceOf(d) === substitute?.namespace))
      definitions.delete(id);
  for (const definition of kept) definitions.set(identityOf(definition), { ...definition, object: undefined });
}

function namespaceOf({ kind, key }: LocatedObject): string {
  return subjectOf(kind, key).namespace;
}

function conflict({ kind, key, file, line }: LocatedObject, first: LocatedObject): Problem {
  return {
    severity: "error",
    file,
    line,
    subject: subjectOf(kind, key),
    path: [],
    message: `is also defined at ${first.file}:${first.line}, which counts; expected it to be defined once`,
  };
}

function byPlace(a: { file: string; line: number }, b: { file: string; line: number }): number {
  return a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line;
}

function identityOf({ kind, key }: LocatedObject): string {
  return `${kind.group}/${kind.kind}/${key}`;
}

function getOrCreate<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = create()));
  return value;
}
