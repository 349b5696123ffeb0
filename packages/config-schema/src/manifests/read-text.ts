import type { ConfigObject } from "../config-object.js";
import type { Kind } from "../kinds/kind.js";
import { decode, type DecodeOptions } from "../decoding/decode.js";
import { problemOf, type Problem } from "./problem.js";
import { type FieldPath, formatPath } from "../decoding/report.js";
import { allKinds } from "../kinds/all-kinds.js";
import type { ObjectOfOtherRevision } from "../other-revisions.js";
import { unnamed, unparsedPolicies } from "./unparsed-policies.js";
import { listSlices } from "../yaml/list-slices.js";
import { parseYaml, splitDocuments, type DocumentText } from "../yaml/yaml.js";

/** An object of a document, with its place. */
export interface LocatedObject {
  readonly kind: Kind;
  /** Key in the kind's collection. */
  readonly key: string;
  /** Undefined if the object was rejected. Its last good version stays active. */
  readonly object: ConfigObject<unknown, unknown> | undefined;
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Path of the object in its document; not empty for an item of a List. */
  readonly path: FieldPath;
  /** The object that applies if this one was rejected and there is no good version. */
  readonly substitute?: ConfigObject<unknown, unknown>;
  /** True if the object's name cannot be read; the one in its key stands for it. */
  readonly isUnnamed?: boolean;
}

/** An object of another revision in a document, with its place. */
export interface LocatedOther extends Pick<LocatedObject, "kind" | "key" | "file" | "line" | "path"> {
  readonly other: ObjectOfOtherRevision;
}

/** Content of one document of a file. */
export interface Reading {
  readonly objects: readonly LocatedObject[];
  readonly problems: readonly Problem[];
  /** Number of objects of each kind that is not read. */
  readonly ignored: ReadonlyMap<string, number>;
  /** The objects of other revisions, which are also counted as ignored. */
  readonly others: readonly LocatedOther[];
  /** Reports whether it is unknown which objects the document defines. */
  readonly unreadable: boolean;
}

export interface ReadOptions extends DecodeOptions {
  /** Pool for the strings of objects that live long. Default: strings are slices of the parsed text. */
  readonly strings?: { intern(value: unknown): unknown };
}

const noneIgnored: ReadonlyMap<string, number> = new Map();

/** Reads every document of a text. Never throws because of the text. */
export function readText(text: string, file: string, options: ReadOptions = {}): readonly Reading[] {
  return splitDocuments(text).map((document) => readDocument(document, file, options));
}

/** Reads one document. */
export function readDocument(document: DocumentText, file: string, options: ReadOptions = {}): Reading {
  const slices = readInSlices(document, file, options);
  for (;;) {
    const { done, value } = slices.next();
    if (done === true) return value;
  }
}

/**
 * Reads one document as `readDocument` does, and yields after each slice of a long List the number of its items.
 *
 * @param sliceLength length of a slice in characters. Default 32 Ki.
 */
export function* readInSlices(
  document: DocumentText,
  file: string,
  options: ReadOptions = {},
  sliceLength?: number,
): Generator<number, Reading> {
  const slices = listSlices(document, sliceLength);
  if (slices === undefined) return readWhole(document, file, options);
  const readings: Reading[] = [];
  for (const { document: slice, first, items } of slices) {
    const reading = readWhole(slice, file, options);
    // The fault may be of the whole document, and so may be what it hides.
    if (reading.unreadable) return readWhole(document, file, options);
    readings.push(moveItems(reading, first));
    yield items;
  }
  const ignored = new Map<string, number>();
  for (const reading of readings)
    for (const [kind, count] of reading.ignored) ignored.set(kind, (ignored.get(kind) ?? 0) + count);
  return {
    objects: readings.flatMap(({ objects }) => objects),
    problems: readings.flatMap(({ problems }) => problems),
    ignored: ignored.size === 0 ? noneIgnored : ignored,
    others: readings.flatMap(({ others }) => others),
    unreadable: false,
  };
}

const nothing: Reading = { objects: [], problems: [], ignored: noneIgnored, others: [], unreadable: false };

/** Reports whether a file is for Kustomize, next to the objects that it builds upon. It need not name a kind. */
function isKustomization(file: string, value: unknown): boolean {
  return (
    /(?:^|[\\/])kustomization\.ya?ml$/.test(file) &&
    typeof value === "object" &&
    value !== null &&
    !("apiVersion" in value || "kind" in value)
  );
}

/** Reads a document in one piece. */
function readWhole(document: DocumentText, file: string, options: ReadOptions = {}): Reading {
  const parsed = parseYaml(document);
  if ("message" in parsed) {
    const problem: Problem = {
      severity: "error",
      file,
      line: parsed.line,
      path: [],
      message: `is not YAML: ${parsed.message}`,
    };
    return {
      objects: unparsedObjects(document, file, parsed.line, options),
      problems: [problem],
      ignored: noneIgnored,
      others: [],
      unreadable: true,
    };
  }
  if (isKustomization(file, parsed.value)) return nothing;
  const objects: LocatedObject[] = [];
  const problems: Problem[] = [];
  const ignored = new Map<string, number>();
  const others: LocatedOther[] = [];
  let unreadable = false;
  const value = options.strings === undefined ? parsed.value : options.strings.intern(parsed.value);
  for (const decoded of decode(value, { ...options, wordAt: parsed.wordAt })) {
    for (const issue of decoded.issues)
      problems.push(problemOf(issue, file, parsed.lineOf(issue.path), decoded.path, decoded.subject));
    if (decoded.outcome === "ignored") {
      if (decoded.issues.length === 0) ignored.set(decoded.kind, (ignored.get(decoded.kind) ?? 0) + 1);
      if (decoded.other !== undefined) {
        const { object: other, ...named } = decoded.other;
        others.push({ ...named, other, file, line: parsed.lineOf(decoded.path), path: decoded.path });
      }
      continue;
    }
    const { kind } = decoded;
    const at = { file, line: parsed.lineOf(decoded.path), path: decoded.path };
    const substitute = decoded.outcome === "rejected" ? decoded.substitute : undefined;
    if (kind !== undefined && decoded.key !== undefined) {
      const object = decoded.outcome === "accepted" ? decoded.object : undefined;
      objects.push({ kind, key: decoded.key, object, ...at, ...(substitute && { substitute }) });
      continue;
    }
    unreadable = true;
    if (kind !== undefined && substitute !== undefined) {
      const named = { ...substitute, name: substitute.name || unnamed(`${document.text}${formatPath(decoded.path)}`) };
      objects.push({ kind, key: kind.key(named), object: undefined, ...at, substitute: named, isUnnamed: true });
    } else objects.push(...unparsedObjects(document, file, at.line, options));
  }
  return { objects, problems, ignored: ignored.size === 0 ? noneIgnored : ignored, others, unreadable };
}

/** Returns the policies that a document which cannot be decoded appears to define. */
function unparsedObjects(
  { text }: DocumentText,
  file: string,
  line: number,
  { cluster = "Kubernetes", kinds = allKinds, revision = "", acceptInvalid = false }: ReadOptions,
): readonly LocatedObject[] {
  if (acceptInvalid) return [];
  return unparsedPolicies(text, { cluster, kinds, revision }).map(({ kind, substitute, isUnnamed }) => ({
    kind,
    key: kind.key(substitute),
    object: undefined,
    file,
    line,
    path: [],
    substitute,
    isUnnamed,
  }));
}

/** Returns the reading of a slice with the paths of its items in the List. */
function moveItems(reading: Reading, first: number): Reading {
  if (first === 0) return reading;
  const moved = <T extends { readonly path: FieldPath }>(item: T): T => {
    const [, index, ...rest] = item.path;
    return typeof index === "number" ? { ...item, path: ["items", index + first, ...rest] } : item;
  };
  return { ...reading, objects: reading.objects.map(moved), others: reading.others.map(moved) };
}

/** Returns a reading of the same document some lines further down. */
export function moveReading(reading: Reading, lines: number): Reading {
  if (lines === 0) return reading;
  const moved = <T extends { readonly line: number }>(items: readonly T[]): T[] =>
    items.map((item) => ({ ...item, line: item.line + lines }));
  return {
    ...reading,
    objects: moved(reading.objects),
    others: moved(reading.others),
    problems: moved(reading.problems),
  };
}
