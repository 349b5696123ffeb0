import type { ConfigObject } from "../config-object.js";
import type { Kind } from "../kinds/kind.js";
import { decode, type DecodeOptions } from "../decoding/decode.js";
import { problemOf, type Problem } from "./problem.js";
import type { FieldPath } from "../decoding/report.js";
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
}

/** Content of one document of a file. */
export interface Reading {
  readonly objects: readonly LocatedObject[];
  readonly problems: readonly Problem[];
  /** Number of objects of each kind that is not read. */
  readonly ignored: ReadonlyMap<string, number>;
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
  const parsed = parseYaml(document);
  if ("message" in parsed) {
    const problem: Problem = {
      severity: "error",
      file,
      line: parsed.line,
      path: [],
      message: `is not YAML: ${parsed.message}`,
    };
    return { objects: [], problems: [problem], ignored: noneIgnored, unreadable: true };
  }
  const objects: LocatedObject[] = [];
  const problems: Problem[] = [];
  const ignored = new Map<string, number>();
  let unreadable = false;
  const value = options.strings === undefined ? parsed.value : options.strings.intern(parsed.value);
  for (const decoded of decode(value, { ...options, wordAt: parsed.wordAt })) {
    for (const issue of decoded.issues)
      problems.push(problemOf(issue, file, parsed.lineOf(issue.path), decoded.path, decoded.subject));
    if (decoded.outcome === "ignored") {
      if (decoded.issues.length === 0) ignored.set(decoded.kind, (ignored.get(decoded.kind) ?? 0) + 1);
      continue;
    }
    const { kind, key } = decoded;
    if (kind === undefined || key === undefined) unreadable = true;
    else
      objects.push({
        kind,
        key,
        object: decoded.outcome === "accepted" ? decoded.object : undefined,
        file,
        line: parsed.lineOf(decoded.path),
        path: decoded.path,
      });
  }
  return { objects, problems, ignored: ignored.size === 0 ? noneIgnored : ignored, unreadable };
}

/** Returns a reading of the same document some lines further down. */
export function moveReading(reading: Reading, lines: number): Reading {
  if (lines === 0) return reading;
  const moved = <T extends { readonly line: number }>(items: readonly T[]): T[] =>
    items.map((item) => ({ ...item, line: item.line + lines }));
  return { ...reading, objects: moved(reading.objects), problems: moved(reading.problems) };
}
