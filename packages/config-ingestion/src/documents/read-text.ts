import type { ConfigObject } from "../config-object.js";
import type { Kind } from "../kinds/kind.js";
import { decode, type DecodeOptions, type Subject } from "./decode.js";
import { problemOf, type Problem } from "./problem.js";
import { parseYaml, splitDocuments, type DocumentText } from "./yaml.js";

/** An object, and where it stands. */
export interface LocatedObject {
  readonly kind: Kind;
  /** Its key in its kind's collection. */
  readonly key: string;
  readonly object: ConfigObject<unknown, unknown>;
  readonly file: string;
  readonly line: number;
}

/** An object that is there and was refused: its last good version stays in force. */
export interface RefusedObject {
  readonly subject: Subject;
  readonly line: number;
}

/** What one document of a file holds. */
export interface Reading {
  readonly objects: readonly LocatedObject[];
  readonly refused: readonly RefusedObject[];
  readonly problems: readonly Problem[];
  /** How many objects of other kinds there are, by kind. */
  readonly ignored: ReadonlyMap<string, number>;
  /** It could not even be told which objects it holds. */
  readonly unreadable: boolean;
}

/** Reads every document of a text. Never throws for the sake of the text. */
export function readText(text: string, file: string, options: DecodeOptions = {}): readonly Reading[] {
  return splitDocuments(text).map((document) => readDocument(document, file, options));
}

/** Reads one document. */
export function readDocument(document: DocumentText, file: string, options: DecodeOptions = {}): Reading {
  const parsed = parseYaml(document);
  if ("message" in parsed) {
    const problem: Problem = { severity: "error", file, line: parsed.line, path: [], message: `is not YAML: ${parsed.message}` };
    return { objects: [], refused: [], problems: [problem], ignored: new Map(), unreadable: true };
  }
  const objects: LocatedObject[] = [];
  const refused: RefusedObject[] = [];
  const problems: Problem[] = [];
  const ignored = new Map<string, number>();
  let unreadable = false;
  for (const decoded of decode(parsed.value, options)) {
    if (decoded.outcome === "ignored") {
      ignored.set(decoded.kind, (ignored.get(decoded.kind) ?? 0) + 1);
      continue;
    }
    for (const issue of decoded.issues) problems.push(problemOf(issue, file, parsed.lineOf(issue.path), decoded.path, decoded.subject));
    const line = parsed.lineOf(decoded.path);
    if (decoded.outcome === "accepted") objects.push({ kind: decoded.kind, key: decoded.key, object: decoded.object, file, line });
    else if (decoded.subject !== undefined) refused.push({ subject: decoded.subject, line });
    else unreadable = true;
  }
  return { objects, refused, problems, ignored, unreadable };
}
