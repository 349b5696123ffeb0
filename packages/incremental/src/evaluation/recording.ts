import type { Input } from "../inputs/input.js";
import { Call } from "../records/call.js";
import type { Client } from "../records/client.js";
import type { Computation } from "../records/computation.js";
import { Memo, noDependencies, type Dependency } from "../records/memo.js";
import type { Path } from "../records/path.js";
import { ActiveComputation, type ActiveStack } from "./active-stack.js";
import type { Engine } from "./engine.js";
import { reserveMark, type QuestionMarks, type Workspace } from "./workspace.js";

/**
 * The recorded reads of a query or fact while it runs. Each read is compared with the expected next read, which is
 * known from the last run or from another class of clients. A run with the same reads finds each record without a
 * lookup, and shares the list of dependencies.
 */
export class Recording extends ActiveComputation {
  /** True for a query. A fact has no path: it depends on other facts of its client directly. */
  protected readonly hasPath: boolean;
  protected readonly active: ActiveStack;
  readonly #workspace: Workspace;
  readonly #pass: number;
  readonly #expected: readonly Dependency[];
  /** The number of expected dependencies that were read. */
  #matched = 0;
  /** True if nothing else was read. */
  #asExpected = true;
  readonly #dependenciesBase: number;
  readonly #stepsBase: number;
  #questions: QuestionMarks | null = null;

  constructor(
    protected readonly engine: Engine,
    override readonly owner: Computation,
    protected readonly client: Client,
    /** The memo whose reads are expected. */
    like: Memo | null,
  ) {
    super(owner);
    this.active = engine.active;
    this.#workspace = engine.workspace;
    this.#pass = ++this.#workspace.pass;
    this.hasPath = owner instanceof Call;
    this.#expected = like === null ? noDependencies : like.dependencies;
    this.#dependenciesBase = this.#workspace.dependenciesTop;
    this.#stepsBase = this.#workspace.stepsTop;
  }

  /** The expected next read. */
  protected get expected(): Dependency | undefined {
    return this.#expected[this.#matched];
  }

  /**
   * Ends the recording of dependencies: returns each once, in order of first reading. The list is the expected one if
   * it is equal.
   */
  endDependencies(): readonly Dependency[] {
    const expected = this.#expected;
    if (this.#asExpected) return this.#matched === expected.length ? expected : expected.slice(0, this.#matched);
    const workspace = this.#workspace;
    const { dependencies } = workspace;
    const base = this.#dependenciesBase;
    const top = workspace.pass === this.#pass ? workspace.dependenciesTop : this.#removeRepeated();
    workspace.dependenciesTop = base;
    if (top - base === expected.length) {
      let i = 0;
      while (i < expected.length && expected[i] === dependencies[base + i]) i++;
      if (i === expected.length) return expected;
    }
    return dependencies.slice(base, top);
  }

  /** Ends the recording of the path. */
  endPath(): Path {
    const workspace = this.#workspace;
    const top = workspace.stepsTop;
    workspace.stepsTop = this.#stepsBase;
    return this.engine.store.paths.intern(workspace.steps, this.#stepsBase, top);
  }

  /** Adds the reads of a call that failed because it is on a cycle with this one. */
  addAll(dependencies: readonly Dependency[]): void {
    for (const dependency of dependencies) {
      if (typeof dependency === "number") {
        if (this.hasPath) this.addQuestion(dependency, this.client.answers[dependency] as number);
        else this.addAnswer(dependency);
      } else {
        this.addNode(dependency as Input | Memo);
        if (dependency instanceof Memo) this.addPath(dependency.path);
      }
    }
  }

  protected addNode(node: Input | Memo): void {
    if (node.mark === this.#pass) return;
    node.mark = this.#pass;
    this.#add(node);
  }

  /** Adds a question even if a call asked it before: after a change, that call may ask something else. */
  protected addQuestion(id: number, answer: number): void {
    const questions = this.#questionMarks(id);
    const mark = questions.marks[id] as number;
    if (mark > questions.mark) return;
    if (mark < questions.mark) this.#addStep(id, answer);
    questions.marks[id] = questions.mark + 1;
    this.#add(id);
  }

  protected addAnswer(id: number): void {
    const memo = this.client.answerMemos.get(id);
    if (memo !== undefined) this.addNode(memo);
  }

  /** Adds the steps of a called memo's path that are not in this path yet. */
  protected addPath(path: Path): void {
    if (path.mark === this.#pass) return;
    path.mark = this.#pass;
    const steps = path.steps;
    for (let i = 0; i < steps.length; i += 2) {
      const id = steps[i] as number;
      if (!this.hasPath) {
        this.addAnswer(id);
        continue;
      }
      const questions = this.#questionMarks(id);
      if ((questions.marks[id] as number) >= questions.mark) continue;
      questions.marks[id] = questions.mark;
      this.#addStep(id, steps[i + 1] as number);
    }
  }

  #add(dependency: Dependency): void {
    const expected = this.#expected[this.#matched];
    if (expected === dependency) {
      this.#matched++;
      if (this.#asExpected) return;
    } else {
      if (this.#asExpected) this.#copyMatched();
      if (this.#expected[this.#matched + 1] === dependency) this.#matched += 2;
      else if (expected instanceof Memo && dependency instanceof Memo && expected.owner === dependency.owner)
        this.#matched++;
    }
    const workspace = this.#workspace;
    workspace.dependencies[workspace.dependenciesTop++] = dependency;
  }

  #copyMatched(): void {
    this.#asExpected = false;
    const workspace = this.#workspace;
    for (let i = 0; i < this.#matched; i++) {
      workspace.dependencies[workspace.dependenciesTop++] = this.#expected[i] as Dependency;
    }
  }

  /**
   * Nested passes overwrote marks, so dependencies may be listed repeatedly. Returns the end of the list without
   * repetitions.
   */
  #removeRepeated(): number {
    const { dependencies, dependenciesTop } = this.#workspace;
    const pass = ++this.#workspace.pass;
    let kept = this.#dependenciesBase;
    for (let i = kept; i < dependenciesTop; i++) {
      const dependency = dependencies[i] as Dependency;
      if (typeof dependency !== "number") {
        if (dependency.mark === pass) continue;
        dependency.mark = pass;
      }
      dependencies[kept++] = dependency;
    }
    return kept;
  }

  #addStep(id: number, answer: number): void {
    const workspace = this.#workspace;
    workspace.steps[workspace.stepsTop++] = id;
    workspace.steps[workspace.stepsTop++] = answer;
  }

  #questionMarks(id: number): QuestionMarks {
    const { questions } = this.engine.store;
    this.#questions ??= this.#workspace.questionMarks(this.active.depth - 1, questions.byId.length);
    reserveMark(this.#questions, id);
    return this.#questions;
  }
}
