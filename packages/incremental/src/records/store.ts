import { CallTable, type AnyQuery, type Call } from "./call.js";
import { insertMemo, removeMemo, type Node } from "./decision-tree.js";
import type { Memo } from "./memo.js";
import { Paths, type Path } from "./path.js";
import { Questions, type Question } from "./question.js";

const noQuestions: readonly Question[] = [];

/** The memos of all calls, with the questions and paths by which they are found. */
export class Store {
  readonly paths = new Paths();
  readonly questions = new Questions();
  readonly #calls: (CallTable | undefined)[] = [];
  #memos = 0;

  /** The number of memos of calls. */
  get memos(): number {
    return this.#memos;
  }

  call(query: AnyQuery, arg: unknown): Call {
    let table = this.#calls[query.id];
    if (table === undefined) this.#calls[query.id] = table = new CallTable(query);
    return table.call(arg);
  }

  /** Inserts a new memo of a call. Returns the subtree that it supersedes. */
  insert(memo: Memo, path: Path): Node | null {
    const call = memo.owner as Call;
    memo.path = path;
    if (path.memos++ === 0) for (const question of this.#questionsOn(path)) question.paths++;
    call.memos++;
    this.#memos++;
    return insertMemo(call, memo);
  }

  /** Removes a memo of a call. Returns the questions that no path asks any more. */
  remove(memo: Memo): readonly Question[] {
    const call = memo.owner as Call;
    removeMemo(call, memo);
    this.#memos--;
    call.memos--;
    call.dropIfEmpty();
    const { path } = memo;
    if (--path.memos > 0 || path.steps.length === 0) return noQuestions;
    this.paths.drop(path);
    return this.#questionsOn(path).filter((question) => --question.paths === 0);
  }

  clear(): void {
    this.paths.clear();
    this.questions.clear();
    this.#calls.length = this.#memos = 0;
  }

  #questionsOn({ steps }: Path): Question[] {
    const questions: Question[] = [];
    for (let i = 0; i < steps.length; i += 2) {
      const question = this.questions.byId[steps[i] as number];
      if (question !== undefined) questions.push(question);
    }
    return questions;
  }
}
