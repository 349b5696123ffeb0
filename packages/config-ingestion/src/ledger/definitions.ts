import { type LocatedObject, type Problem, subjectOf } from "@istiod/config-schema";

/** Returns the identity of the object that a definition defines. */
export function identityOf({ kind, key }: LocatedObject): string {
  return `${kind.group}/${kind.kind}/${key}`;
}

/** Orders definitions and problems by path and line. */
export function byPlace(a: { file: string; line: number }, b: { file: string; line: number }): number {
  return a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line;
}

/** Returns the problem of a definition of an object that another place defines first. */
export function conflict({ kind, key, file, line }: LocatedObject, first: LocatedObject): Problem {
  return {
    severity: "error",
    file,
    line,
    subject: subjectOf(kind, key),
    path: [],
    message: `is also defined at ${first.file}:${first.line}, which counts; expected it to be defined once`,
  };
}
