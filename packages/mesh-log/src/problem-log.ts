import { formatProblem, type Problem } from "@istiod/config-schema";
import { formatName } from "@istiod/push-report";
import type { Logger } from "pino";

/** Logs problems of objects and their resolution, in the scope `validation`. */
export class ProblemLog {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log.child({ scope: "validation" });
  }

  found(problems: readonly Problem[]): void {
    for (const problem of problems)
      this.#log[problem.severity === "error" ? "error" : "warn"](
        { ...objectField(problem), file: problem.file, line: problem.line },
        formatProblem(problem),
      );
  }

  resolved(problems: readonly Problem[]): void {
    for (const problem of problems) this.#log.info(objectField(problem), `resolved: ${formatProblem(problem)}`);
  }
}

function objectField({ subject }: Problem): { readonly object?: string } {
  return subject === undefined ? {} : { object: formatName(subject) };
}
