import { type LocatedObject, type Problem, subjectOf, type UnparsedPolicy } from "@istiod/config-schema";
import { conflict, identityOf } from "./definitions.js";
import type { DocumentRecord } from "./file-documents.js";

/** The objects that a file defines. */
export interface FileRecord {
  readonly documents: readonly DocumentRecord[];
  /** Definitions in the file, the first of each key. Without `object` if it is rejected or unreadable now. */
  readonly definitions: readonly LocatedObject[];
  readonly problems: readonly Problem[];
  /** True if it is unknown which objects the file, or a document of it, defines. */
  readonly isPartial: boolean;
}

/** Returns the record of a file by its documents. */
export function fileOfDocuments(documents: readonly DocumentRecord[], before: FileRecord | undefined): FileRecord {
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
  return { documents, definitions: [...definitions.values()], problems, isPartial };
}

/**
 * Returns the record of a file that exists and cannot be read. Its objects stay defined.
 *
 * @param policies the policies that the file appears to define
 */
export function unreadableFile(
  file: string,
  message: string,
  policies: readonly UnparsedPolicy[],
  before: FileRecord | undefined,
): FileRecord {
  const definitions = new Map<string, LocatedObject>();
  for (const { kind, substitute, isUnnamed } of policies) {
    const key = kind.key(substitute);
    const object = { kind, key, object: undefined, file, line: 0, path: [], substitute, isUnnamed };
    definitions.set(identityOf(object), object);
  }
  keepPrevious(definitions, before?.definitions ?? []);
  const problems: Problem[] = [{ severity: "error", file, line: 0, path: [], message }];
  return { documents: [], definitions: [...definitions.values()], problems, isPartial: true };
}

/** Returns the record of a file of which a part cannot be read, with objects that it defined before. */
export function withPrevious(record: FileRecord, previous: readonly LocatedObject[]): FileRecord {
  const definitions = new Map(record.definitions.map((definition) => [identityOf(definition), definition]));
  keepPrevious(definitions, previous);
  return { ...record, definitions: [...definitions.values()] };
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
