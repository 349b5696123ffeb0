import type { Kind } from "../kinds/kind.js";
import type { Issue, Subject } from "../decoding/decode.js";
import { formatPath, type FieldPath, type IssueCode } from "../decoding/report.js";

/** Something wrong in a file, for a person to mend. */
export interface Problem {
  readonly severity: "error" | "warning";
  readonly file: string;
  /** From 1; 0 where the file as a whole is meant. */
  readonly line: number;
  /** The object, where it is known. */
  readonly subject?: Subject;
  /** Path from the root of the document. */
  readonly path: FieldPath;
  /** What is wrong and what is expected. */
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

/** `file:line: Kind ns/name: field.path[2].x: what and what is expected`. */
export function formatProblem(problem: Problem): string {
  const { file, line, subject, path, message } = problem;
  const field = formatPath(path);
  return [
    line === 0 ? file : `${file}:${line}`,
    ...(subject ? [formatSubject(subject)] : []),
    ...(field === "" ? [] : [field]),
    message,
  ].join(": ");
}

/** `Kind ns/name`, or `Kind name` for cluster-scoped kinds. */
export function formatSubject(subject: Subject): string {
  return `${subject.kind} ${subject.namespace === "" ? "" : `${subject.namespace}/`}${subject.name}`;
}

/** Names the object of a key that ends in `namespace/name`, or in `name` for cluster-scoped kinds. */
export function subjectOf({ group, kind, scope }: Kind, key: string): Subject {
  const [name = "", namespace = ""] = key.split("/").reverse();
  return { group, kind, namespace: scope === "cluster" ? "" : namespace, name };
}
