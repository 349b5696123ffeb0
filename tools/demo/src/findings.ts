import type { Problem } from "./problem.js";

/** A finding of istiod's analysis about an accepted object. */
export interface Finding {
  readonly code: string;
  readonly level: string;
  /** `Kind namespace/name`. */
  readonly origin?: string;
  /** File and line. */
  readonly reference?: string;
  readonly message: string;
}

export interface FindingChanges {
  readonly found: readonly Finding[];
  readonly resolved: readonly Finding[];
}

/** Returns the findings that a save has added and removed. Findings that only moved to another line are neither. */
export function findingChanges(before: readonly Finding[], after: readonly Finding[]): FindingChanges {
  const identity = ({ code, origin, message }: Finding): string => [code, origin, message].join("\n");
  const without = (these: readonly Finding[], those: readonly Finding[]): readonly Finding[] => {
    const known = new Set(those.map(identity));
    return these.filter((finding) => !known.has(identity(finding)));
  };
  return { found: without(after, before), resolved: without(before, after) };
}

/** Returns the findings other than problems of documents, which istiod's analysis repeats. */
export function withoutProblems(findings: readonly Finding[], problems: readonly Problem[]): readonly Finding[] {
  const texts = new Set(problems.map(({ text }) => text));
  return findings.filter(({ reference, origin, message }) => !texts.has(joined(reference, origin, message)));
}

/** Formats a finding as the problems of documents are: `file:line: Kind namespace/name: message`. */
export function formatFinding({ code, level, origin, reference, message }: Finding): string {
  return joined(reference, origin, `${message} [${level} ${code}]`);
}

function joined(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== "").join(": ");
}
