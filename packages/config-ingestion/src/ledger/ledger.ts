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
  splitDocuments,
  subjectOf,
} from "@istiod/config-schema";
import { StringPool } from "./string-pool.js";

/** The place where an object is defined. */
export interface Location {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Path of the object in its document; not empty for an item of a List. */
  readonly path: FieldPath;
}

interface FileRecord {
  readonly documents: readonly { readonly digest: string; readonly line: number; readonly reading: Reading }[];
  /** Definitions in the file, the first of each key. Without `object` if it is rejected or unreadable now. */
  readonly definitions: readonly LocatedObject[];
  readonly problems: readonly Problem[];
}

interface ObjectRecord {
  /** Definitions by path and line. The first is the one that applies. */
  definitions: LocatedObject[];
  active: ConfigObject<unknown, unknown> | undefined;
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

  constructor(options: DecodeOptions = {}) {
    this.#options = { ...options, strings: this.#strings };
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
    const before = this.#files.get(file);
    const documents = this.#readDocuments(file, text, before);
    const readings = documents.map((document) => document.reading);
    const problems = readings.flatMap((reading) => reading.problems);
    const definitions = new Map<string, LocatedObject>();
    for (const object of readings.flatMap((reading) => reading.objects)) {
      const id = identityOf(object);
      const first = definitions.get(id);
      if (first === undefined) definitions.set(id, object);
      else problems.push(conflict(object, first));
    }
    if (readings.some((reading) => reading.unreadable)) {
      for (const definition of before?.definitions ?? []) {
        const id = identityOf(definition);
        if (!definitions.has(id)) definitions.set(id, { ...definition, object: undefined });
      }
    }
    this.#recordFile(file, { documents, definitions: [...definitions.values()], problems });
  }

  /** Records that a file exists and cannot be read: its objects keep their last good version. */
  markUnreadable(file: string, message: string): void {
    const definitions = (this.#files.get(file)?.definitions ?? []).map((d) => ({ ...d, object: undefined }));
    const problems: Problem[] = [{ severity: "error", file, line: 0, path: [], message }];
    this.#recordFile(file, { documents: [], definitions, problems });
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
        const before = record.active;
        record.active = activeObject(record);
        if (record.definitions.length === 0) records?.delete(key);
        if (record.active !== before) changes.push({ kind, key, object: record.active });
      }
    }
    this.#changedKeys.clear();
    this.#strings.removeUnused(() => this.#liveObjects());
    return changes;
  }

  /** Returns all current problems, by path and line. */
  problems(): readonly Problem[] {
    const problems = [...this.#files.values()].flatMap((file) => file.problems);
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

  #readDocuments(file: string, text: string, before: FileRecord | undefined): FileRecord["documents"] {
    const known = new Map(before?.documents.map((document) => [document.digest, document]));
    return splitDocuments(text).map((document) => {
      const digest = createHash("sha1").update(document.text).digest("base64");
      const unchanged = known.get(digest);
      const reading =
        unchanged === undefined
          ? readDocument(document, file, this.#options)
          : moveReading(unchanged.reading, document.line - unchanged.line);
      return { digest, line: document.line, reading };
    });
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
    const record = getOrCreate(records, key, (): ObjectRecord => ({ definitions: [], active: undefined }));
    record.definitions = edit(record.definitions);
    getOrCreate(this.#changedKeys, kind, () => new Set<string>()).add(key);
    const conflicting = getOrCreate(this.#conflictingKeys, kind, () => new Set<string>());
    if (record.definitions.length > 1) conflicting.add(key);
    else conflicting.delete(key);
  }
}

/**
 * Returns the object that applies: the first definition; if that is rejected, the last good version; without one, the
 * first accepted definition.
 */
function activeObject({ definitions, active }: ObjectRecord): ConfigObject<unknown, unknown> | undefined {
  const [first] = definitions;
  if (first === undefined) return undefined;
  return first.object ?? active ?? definitions.find((definition) => definition.object !== undefined)?.object;
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
