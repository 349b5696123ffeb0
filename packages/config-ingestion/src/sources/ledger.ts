import { createHash } from "node:crypto";
import {
  type ConfigObject,
  type ObjectChange,
  type DecodeOptions,
  type Problem,
  subjectOf,
  type FieldPath,
  moveReading,
  readDocument,
  type LocatedObject,
  type Reading,
  type ReadOptions,
  splitDocuments,
  type Kind,
} from "@istiod/config-schema";
import { StringPool } from "./string-pool.js";

/** The place of an accepted object. */
export interface Location {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Path of the object in its document; not empty for an item of a List. */
  readonly path: FieldPath;
}

interface FileRecord {
  readonly documents: readonly { readonly digest: string; readonly line: number; readonly reading: Reading }[];
  /**
   * What the file is known to hold, the first of each key. Without an object where it was refused or can not be read
   * now.
   */
  readonly claims: readonly LocatedObject[];
  readonly problems: readonly Problem[];
}

interface ObjectRecord {
  /** Who defines it, in order of path and line. The first one counts. */
  claims: LocatedObject[];
  inForce: ConfigObject<unknown, unknown> | undefined;
}

/**
 * What the files of a directory define, by file and by object. A document that is refused is set aside alone: its last
 * good version stays in force, as do the objects of a document that cannot be read at all. Pure: files are handed in as
 * text.
 */
export class Ledger {
  private readonly files = new Map<string, FileRecord>();
  private readonly objects = new Map<Kind, Map<string, ObjectRecord>>();
  private readonly touched = new Map<Kind, Set<string>>();
  private readonly contested = new Map<Kind, Set<string>>();

  private readonly strings = new StringPool();
  private readonly options: ReadOptions;

  constructor(options: DecodeOptions = {}) {
    this.options = { ...options, strings: this.strings };
  }

  /** How many strings of objects are kept to be shared with further ones. */
  get pooledStrings(): number {
    return this.strings.size;
  }

  /** Whether a file is known to define something. */
  holds(file: string): boolean {
    return (this.files.get(file)?.claims.length ?? 0) > 0;
  }

  /** Takes a file's present text. Documents whose text is as it was are not read again. */
  replaceFile(file: string, text: string): void {
    const before = this.files.get(file);
    const known = new Map(before?.documents.map((d) => [d.digest, d]));
    const documents = splitDocuments(text).map((document) => {
      const digest = createHash("sha1").update(document.text).digest("base64");
      const same = known.get(digest);
      const reading =
        same === undefined
          ? readDocument(document, file, this.options)
          : moveReading(same.reading, document.line - same.line);
      return { digest, line: document.line, reading };
    });
    const readings = documents.map((d) => d.reading);
    const problems = readings.flatMap((r) => r.problems);
    const claims = new Map<string, LocatedObject>();
    for (const object of readings.flatMap((r) => r.objects)) {
      const id = identity(object);
      const first = claims.get(id);
      if (first === undefined) claims.set(id, object);
      else problems.push(contest(object, first));
    }
    if (readings.some((r) => r.unreadable)) {
      for (const claim of before?.claims ?? [])
        if (!claims.has(identity(claim))) claims.set(identity(claim), { ...claim, object: undefined });
    }
    this.record(file, { documents, claims: [...claims.values()], problems });
  }

  /** The file is there and its text can not be had: what it held stays in force. */
  setAside(file: string, message: string): void {
    const claims = (this.files.get(file)?.claims ?? []).map((claim) => ({ ...claim, object: undefined }));
    this.record(file, { documents: [], claims, problems: [{ severity: "error", file, line: 0, path: [], message }] });
  }

  removeFile(file: string): void {
    this.record(file, undefined);
  }

  /** What came into force or is gone since this was last asked. */
  takeChanges(): readonly ObjectChange[] {
    const changes: ObjectChange[] = [];
    for (const [kind, keys] of this.touched) {
      const records = this.objects.get(kind);
      for (const key of keys) {
        const record = records?.get(key);
        if (record === undefined) continue;
        const before = record.inForce;
        record.inForce = choose(record);
        if (record.claims.length === 0) records?.delete(key);
        if (record.inForce !== before) changes.push({ kind, key, object: record.inForce });
      }
    }
    this.touched.clear();
    this.strings.tidy(() => this.known());
    return changes;
  }

  /** Everything that is wrong at present, in order of path and line. */
  problems(): readonly Problem[] {
    const found = [...this.files.values()].flatMap((f) => f.problems);
    for (const [kind, keys] of this.contested) {
      for (const key of keys) {
        const [first, ...others] = this.objects.get(kind)?.get(key)?.claims ?? [];
        if (first !== undefined) found.push(...others.map((other) => contest(other, first)));
      }
    }
    return found.sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line));
  }

  /** How many objects of each kind are in force. */
  counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const [kind, records] of this.objects) {
      let count = 0;
      for (const record of records.values()) if (record.inForce !== undefined) count++;
      if (count > 0) counts.set(kind.kind, count);
    }
    return counts;
  }

  /** How many objects of kinds that are not read there are, by kind. */
  ignored(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { documents } of this.files.values()) {
      for (const { reading } of documents)
        for (const [kind, count] of reading.ignored) counts.set(kind, (counts.get(kind) ?? 0) + count);
    }
    return counts;
  }

  /** Where an object that is in force stands, by its kind and its key in the kind's collection. */
  locate(kind: Kind, key: string): Location | undefined {
    return this.objects.get(kind)?.get(key)?.claims[0];
  }

  /** The objects in force, and those that would be. */
  private *known(): Generator<unknown> {
    for (const records of this.objects.values()) {
      for (const { claims, inForce } of records.values()) {
        if (inForce !== undefined) yield inForce;
        for (const { object } of claims) if (object !== undefined && object !== inForce) yield object;
      }
    }
  }

  private record(file: string, after: FileRecord | undefined): void {
    const before = this.files.get(file);
    if (after === undefined) this.files.delete(file);
    else this.files.set(file, after);
    const kept = new Set(after?.claims);
    const had = new Set(before?.claims);
    for (const claim of had) if (!kept.has(claim)) this.change(claim, (claims) => claims.filter((c) => c !== claim));
    for (const claim of kept) if (!had.has(claim)) this.change(claim, (claims) => [...claims, claim].sort(inOrder));
  }

  private change({ kind, key }: LocatedObject, edit: (claims: LocatedObject[]) => LocatedObject[]): void {
    const records = entry(this.objects, kind, () => new Map<string, ObjectRecord>());
    const record = entry(records, key, (): ObjectRecord => ({ claims: [], inForce: undefined }));
    record.claims = edit(record.claims);
    entry(this.touched, kind, () => new Set<string>()).add(key);
    const contested = entry(this.contested, kind, () => new Set<string>());
    if (record.claims.length > 1) contested.add(key);
    else contested.delete(key);
  }
}

/**
 * The first definition counts. Where it was refused the last good version stays, and without one any other definition
 * does.
 */
function choose({ claims, inForce }: ObjectRecord): ConfigObject<unknown, unknown> | undefined {
  const [first] = claims;
  if (first === undefined) return undefined;
  return first.object ?? inForce ?? claims.find((c) => c.object !== undefined)?.object;
}

function contest(object: LocatedObject, winner: LocatedObject): Problem {
  const { kind, key, file, line } = object;
  return {
    severity: "error",
    file,
    line,
    subject: subjectOf(kind, key),
    path: [],
    message: `is also defined at ${winner.file}:${winner.line}, which counts; expected it to be defined once`,
  };
}

function inOrder(a: LocatedObject, b: LocatedObject): number {
  return a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line;
}

function identity({ kind, key }: LocatedObject): string {
  return `${kind.group}/${kind.kind}/${key}`;
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
