import { formatProblem, type Problem } from "@istiod/config-schema";

/** A problem whose text may change while it is the same problem. */
export interface TrackedProblem {
  readonly problem: Problem;
  /** Object that has at most one problem. */
  readonly subject: object;
  /** The problem is found again when its version changes. */
  readonly version: string;
}

/** Problems that appeared, and problems that were resolved, between two states. */
export interface ProblemChanges {
  readonly found: readonly Problem[];
  readonly resolved: readonly Problem[];
}

interface Known {
  readonly problem: Problem;
  readonly version: string;
}

/** Remembers the current problems, so that each is reported once until it is resolved. */
export class ProblemTracker {
  /** By subject, or by text. */
  #known = new Map<unknown, Known>();

  /** Replaces the current problems, and returns how they differ from the previous ones. */
  update(problems: readonly Problem[], tracked: readonly TrackedProblem[] = []): ProblemChanges {
    const current = new Map<unknown, Known>(
      problems.map((problem) => [formatProblem(problem), { problem, version: "" }]),
    );
    for (const { subject, problem, version } of tracked) current.set(subject, { problem, version });
    const found = [...current].filter(([key, { version }]) => this.#known.get(key)?.version !== version);
    const resolved = [...this.#known].filter(([key]) => !current.has(key));
    this.#known = current;
    return { found: found.map(problemOf), resolved: resolved.map(problemOf) };
  }
}

const problemOf = ([, { problem }]: readonly [unknown, Known]): Problem => problem;
