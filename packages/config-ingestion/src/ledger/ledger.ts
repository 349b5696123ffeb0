import type {
  DecodeOptions,
  FieldPath,
  Kind,
  ObjectChange,
  OtherRevisionChange,
  Problem,
  ReadOptions,
  UnparsedPolicy,
} from "@istiod/config-schema";
import { DefinedObjects } from "./defined-objects.js";
import { byPlace } from "./definitions.js";
import { enforcedInstead } from "./enforced-instead.js";
import { type DocumentRecord, readDocuments, TooManyDocumentsError } from "./file-documents.js";
import { fileOfDocuments, type FileRecord, unreadableFile, withPrevious } from "./file-record.js";
import { OtherRevisions } from "./other-revisions.js";
import type { RejectedPolicy, StoreChanges, StoredVersions } from "./stored-versions.js";
import { StringPool } from "./string-pool.js";

/** The place where an object is defined. */
export interface Location {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Path of the object in its document; not empty for an item of a List. */
  readonly path: FieldPath;
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
  readonly #objects: DefinedObjects;
  readonly #others = new OtherRevisions();
  readonly #strings = new StringPool();
  readonly #options: ReadOptions;
  readonly #stored: StoredVersions | undefined;

  constructor({ stored, ...options }: LedgerOptions = {}) {
    this.#options = { ...options, strings: this.#strings };
    this.#stored = stored;
    this.#objects = new DefinedObjects(stored);
  }

  /** Number of strings that are pooled for sharing between objects. */
  get pooledStrings(): number {
    return this.#strings.size;
  }

  /** Reports whether it is known which objects every file defines. */
  get isComplete(): boolean {
    return ![...this.#files.values()].some(({ isPartial }) => isPartial);
  }

  /** Reports whether a file defines any object. */
  hasDefinitions(file: string): boolean {
    return (this.#files.get(file)?.definitions.length ?? 0) > 0;
  }

  /** Records a file's current text. Documents with unchanged text are not parsed again. */
  replaceFile(file: string, text: string): void {
    const documents = [...this.#readDocuments(file, text)].filter((step) => typeof step !== "number");
    this.#recordFile(file, fileOfDocuments(documents, this.#files.get(file)));
  }

  /**
   * Records a file's current text as `replaceFile` does, and lets other work run in between. Only one file may be read
   * at a time.
   *
   * @param pause called after each document and each slice of a long List; a promise is awaited
   * @throws TooManyDocumentsError before anything is recorded
   */
  async replaceFileInSlices(
    file: string,
    text: string,
    { maxDocuments = Infinity, pause }: { readonly maxDocuments?: number; pause(): Promise<void> | undefined },
  ): Promise<void> {
    const documents: DocumentRecord[] = [];
    let count = 0;
    for (const step of this.#readDocuments(file, text)) {
      if (typeof step !== "number") documents.push(step);
      count += typeof step === "number" ? step : 1;
      if (count > maxDocuments) throw new TooManyDocumentsError(maxDocuments);
      const paused = pause();
      if (paused !== undefined) await paused;
    }
    this.#recordFile(file, fileOfDocuments(documents, this.#files.get(file)));
  }

  /**
   * Records that a file exists and cannot be read: its objects keep their last good version.
   *
   * @param policies the policies that the file appears to define
   */
  markUnreadable(file: string, message: string, policies: readonly UnparsedPolicy[] = []): void {
    this.#recordFile(file, unreadableFile(file, message, policies, this.#files.get(file)));
  }

  /** Records that a file is gone. Objects that no other file defines are removed. */
  removeFile(file: string): void {
    this.#recordFile(file, undefined);
  }

  /** Adds the objects that files which cannot be read defined when another process last read them. */
  addStoredDefinitions(): void {
    for (const [file, record] of this.#files) {
      if (!record.isPartial) continue;
      const missing = (this.#stored?.definedIn(file) ?? []).filter(({ kind, key }) => !this.isDefined(kind, key));
      if (missing.length > 0) this.#recordFile(file, withPrevious(record, missing));
    }
  }

  /** Marks rejected objects as possibly changed, because stored versions changed. */
  reconsiderRejected(): void {
    this.#objects.reconsiderRejected();
  }

  /** Returns the objects that became active, were removed, or belong to another revision, since the last call. */
  takeChanges(): readonly (ObjectChange | OtherRevisionChange)[] {
    const changes = [...this.#objects.takeChanges(), ...this.#others.takeChanges()];
    this.#strings.removeUnused(() => this.#objects.live());
    return changes;
  }

  /** Returns what the changes taken last mean for stored versions, once. */
  takeStoreChanges(): StoreChanges {
    return this.#objects.takeStoreChanges();
  }

  /** Reports whether any file defines an object, also if it is rejected. */
  isDefined(kind: Kind, key: string): boolean {
    return this.#objects.definitionsOf(kind, key).length > 0;
  }

  /**
   * Returns the place that defines an active object, or one of another revision, by its kind and its key in the kind's
   * collection.
   */
  locate(kind: Kind, key: string): Location | undefined {
    return this.#objects.definitionsOf(kind, key)[0] ?? this.#others.locate(kind, key);
  }

  /** Returns the rejected objects of kinds that restrict, with what applies instead. */
  rejectedPolicies(): readonly RejectedPolicy[] {
    return [...this.#objects.rejected()].map(({ kind, key, first, record }) => ({
      kind,
      key,
      file: first.file,
      line: first.line,
      enforced: record.stored !== undefined ? "stored" : record.substitute !== undefined ? "fail-closed" : "last-good",
    }));
  }

  /** Returns all current problems, by path and line. */
  problems(): readonly Problem[] {
    return [
      ...[...this.#files.values()].flatMap((file) => file.problems),
      ...[...this.#objects.rejected()].flatMap(enforcedInstead),
      ...this.#objects.conflicts(),
    ].sort(byPlace);
  }

  /** Returns the number of active objects of each kind. */
  counts(): ReadonlyMap<string, number> {
    return this.#objects.counts();
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

  #readDocuments(file: string, text: string): Generator<DocumentRecord | number> {
    return readDocuments(file, text, this.#files.get(file)?.documents ?? [], this.#options);
  }

  #recordFile(file: string, after: FileRecord | undefined): void {
    const before = this.#files.get(file)?.definitions ?? [];
    if (after === undefined) this.#files.delete(file);
    else this.#files.set(file, after);
    this.#objects.replace(before, after?.definitions ?? []);
    this.#others.replaceFile(file, after?.documents.flatMap(({ reading }) => reading.others) ?? []);
  }
}
