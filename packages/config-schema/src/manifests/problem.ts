import type { Kind } from "../kinds/kind.js";
import type { Issue, Subject } from "../decoding/decode.js";
import { formatPath, type FieldPath, type IssueCode } from "../decoding/report.js";

/** A fault in a file, for a person to fix. */
export interface Problem {
  readonly severity: "error" | "warning";
  readonly file: string;
  /** Line, from 1. 0 if the fault concerns the whole file. */
  readonly line: number;
  /** The object, if it is known. */
  readonly subject?: Subject;
  /** Path from the root of the document. */
  readonly path: FieldPath;
  /** The fault and what is expected instead. */
  readonly message: string;
  readonly code?: IssueCode;
}

export function problemOf(
  issue: Issue,
  file: string,
  line: number,
  at: FieldPath,
  subject: Subject | undefined,
): Problem {
  return {
    severity: issue.severity,
    file,
    line,
    path: issue.path.slice(at.length),
    message: issue.message,
    ...(subject && { subject }),
    ...(issue.code && { code: issue.code }),
  };
}

/** Formats a problem as `file:line: Kind ns/name: field.path[2].x: message`. */
export function formatProblem(problem: Problem): string {
  const { file, line, subject, path, message } = problem;
  const field = formatPath(path);
  return [
    line === 0 ? printable(file) : `${printable(file)}:${line}`,
    ...(subject ? [formatSubject(subject)] : []),
    ...(field === "" ? [] : [field]),
    message,
  ].join(": ");
}

/** Escapes control characters, which the name of a file may have. */
function printable(file: string): string {
  return file.replace(
    /[\p{Cc}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Formats an object as `Kind ns/name`, or `Kind name` for cluster-scoped kinds. */
export function formatSubject(subject: Subject): string {
  return `${subject.kind} ${subject.namespace === "" ? "" : `${subject.namespace}/`}${subject.name}`;
}

/**
 * Returns the identity of an object from its key, which ends in `namespace/name`, or in `name` for cluster-scoped
 * kinds.
 */
export function subjectOf({ group, kind, scope }: Kind, key: string): Subject {
  const [name = "", namespace = ""] = key.split("/").reverse();
  return { group, kind, namespace: scope === "cluster" ? "" : namespace, name };
}
