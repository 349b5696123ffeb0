import { formatProblem, type Problem } from "@istiod/config-schema";

/** Problems that appeared, and problems that were resolved, between two states. */
export interface ProblemChanges {
  readonly found: readonly Problem[];
  readonly resolved: readonly Problem[];
}

/** Remembers the current problems, so that each is reported once until it is resolved. */
export class ProblemTracker {
  #known = new Map<string, Problem>();

  /** Replaces the current problems, and returns how they differ from the previous ones. */
  update(problems: readonly Problem[]): ProblemChanges {
    const current = new Map(problems.map((problem) => [formatProblem(problem), problem]));
    const found = [...current].filter(([text]) => !this.#known.has(text)).map(([, problem]) => problem);
    const resolved = [...this.#known].filter(([text]) => !current.has(text)).map(([, problem]) => problem);
    this.#known = current;
    return { found, resolved };
  }
}
