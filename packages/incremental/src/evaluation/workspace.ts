import type { Dependency } from "../records/memo.js";

/**
 * The questions that a computation has asked, as marks by their ids. Marks below `mark` belong to earlier computations.
 */
export interface QuestionMarks {
  marks: Int32Array;
  /** Marks a question that a call below asked. A question that the computation asked itself has `mark + 1`. */
  mark: number;
}

/** Ensures space for the mark of a question. */
export function reserveMark(questions: QuestionMarks, id: number): void {
  if (id < questions.marks.length) return;
  const longer = new Int32Array(id * 2);
  longer.set(questions.marks);
  questions.marks = longer;
}

const largestMark = 0x7ffffff0;

/** Buffers of the computations in progress. Each has a stretch of its own, the innermost last. */
export class Workspace {
  readonly dependencies: Dependency[] = [];
  dependenciesTop = 0;
  /** Steps of paths. */
  readonly steps: number[] = [];
  stepsTop = 0;
  /** Numbers passes over records. A record with another number as its mark was not visited in this pass. */
  pass = 0;
  readonly #questionMarks: QuestionMarks[] = [];

  /**
   * Returns fresh marks for a computation at a depth of the active stack. `questions` is the number of question ids.
   */
  questionMarks(depth: number, questions: number): QuestionMarks {
    let found = this.#questionMarks[depth];
    if (found === undefined) {
      found = { marks: new Int32Array(Math.max(64, questions * 2)), mark: 0 };
      this.#questionMarks[depth] = found;
    }
    reserveMark(found, questions);
    found.mark += 2;
    if (found.mark > largestMark) {
      found.marks.fill(0);
      found.mark = 2;
    }
    return found;
  }

  /** Releases what the buffers refer to. Only between computations. */
  trim(): void {
    this.dependencies.length = 0;
  }

  clear(): void {
    this.dependencies.length = this.steps.length = this.#questionMarks.length = 0;
    this.dependenciesTop = this.stepsTop = 0;
  }
}
