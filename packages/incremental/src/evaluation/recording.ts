import type { ClientView } from "../client-view.js";
import type { Input } from "../inputs/input.js";
import { Call } from "../records/call.js";
import { Memo, nothing, type Dependency } from "../records/memo.js";
import type { Path } from "../records/path.js";
import type { Question } from "../records/question.js";
import { Activation } from "./activation.js";
import type { Engine, Seen } from "./engine.js";

/**
 * What a query or fact reads while it runs. It is compared, read by read, with what was read last time, or for another class of clients
 * (`like`): a run that reads the same finds each record without looking it up, and has the same list.
 */
export class Recording extends Activation {
  readonly #id: number;
  /** Whether it is of a query. Facts have no path: they depend on other facts of their client directly. */
  protected readonly shared: boolean;
  readonly #expected: readonly Dependency[];
  /** How many of the expected dependencies were met. */
  #met = 0;
  /** Whether nothing else was met. */
  #asExpected = true;
  readonly #notedBase: number;
  readonly #stepsBase: number;
  #seen: Seen | null = null;

  constructor(
    protected readonly engine: Engine,
    override readonly owner: Call | Question,
    protected readonly client: ClientView<unknown>,
    like: Memo | null,
  ) {
    super(owner);
    this.#id = ++engine.runs;
    this.shared = owner instanceof Call;
    this.#expected = like === null ? nothing : like.dependencies;
    this.#notedBase = engine.notedTop;
    this.#stepsBase = engine.stepsTop;
  }

  /** What is read next if it is the same as last time. */
  protected get expected(): Dependency | undefined {
    return this.#expected[this.#met];
  }

  /** Ends the recording: the dependencies, each once, in order of first reading. The list is the expected one where it is equal. */
  dependencies(): readonly Dependency[] {
    const engine = this.engine;
    const expected = this.#expected;
    if (this.#asExpected) return this.#met === expected.length ? expected : expected.slice(0, this.#met);
    const noted = engine.noted;
    const base = this.#notedBase;
    let top = engine.notedTop;
    engine.notedTop = base;
    if (engine.runs !== this.#id) {
      const pass = ++engine.runs;
      let kept = base;
      for (let i = base; i < top; i++) {
        const dependency = noted[i] as Dependency;
        if (typeof dependency !== "number") {
          if (dependency.mark === pass) continue;
          dependency.mark = pass;
        }
        noted[kept++] = dependency;
      }
      top = kept;
    }
    if (top - base === expected.length) {
      let i = 0;
      while (i < expected.length && expected[i] === noted[base + i]) i++;
      if (i === expected.length) return expected;
    }
    return noted.slice(base, top);
  }

  /** Ends the recording of the path. */
  path(): Path {
    const engine = this.engine;
    const top = engine.stepsTop;
    engine.stepsTop = this.#stepsBase;
    return engine.paths.intern(engine.steps, this.#stepsBase, top);
  }

  /** Takes over what a call read that failed because it is on a cycle with this one. */
  absorb(dependencies: readonly Dependency[]): void {
    for (const dependency of dependencies) {
      if (typeof dependency === "number") {
        if (this.shared) this.noteQuestion(dependency, this.client.answers[dependency] as number);
        else this.noteAnswer(dependency);
      } else {
        this.note(dependency);
        if (dependency instanceof Memo) this.join(dependency.path);
      }
    }
  }

  protected note(dependency: Input | Memo): void {
    if (dependency.mark === this.#id) return;
    dependency.mark = this.#id;
    this.#list(dependency);
  }

  #list(dependency: Dependency): void {
    const expected = this.#expected[this.#met];
    if (expected === dependency) {
      this.#met++;
      if (this.#asExpected) return;
    } else {
      if (this.#asExpected) this.#depart();
      if (this.#expected[this.#met + 1] === dependency) this.#met += 2;
      else if (expected instanceof Memo && dependency instanceof Memo && expected.owner === dependency.owner)
        this.#met++;
    }
    this.engine.noted[this.engine.notedTop++] = dependency;
  }

  #depart(): void {
    this.#asExpected = false;
    for (let i = 0; i < this.#met; i++) this.engine.noted[this.engine.notedTop++] = this.#expected[i] as Dependency;
  }

  /** A question is listed as the query's own even where a call asked it before: that call may ask something else after a change. */
  protected noteQuestion(id: number, answer: number): void {
    const seen = this.#marks(id);
    const mark = seen.marks[id] as number;
    if (mark > seen.last) return;
    if (mark < seen.last) this.#step(id, answer);
    seen.marks[id] = seen.last + 1;
    this.#list(id);
  }

  protected noteAnswer(id: number): void {
    const memo = this.client.answerMemos.get(id);
    if (memo !== undefined) this.note(memo);
  }

  protected join(path: Path): void {
    if (path.mark === this.#id) return;
    path.mark = this.#id;
    const steps = path.steps;
    for (let i = 0; i < steps.length; i += 2) {
      const id = steps[i] as number;
      if (!this.shared) {
        this.noteAnswer(id);
        continue;
      }
      const seen = this.#marks(id);
      if ((seen.marks[id] as number) >= seen.last) continue;
      seen.marks[id] = seen.last;
      this.#step(id, steps[i + 1] as number);
    }
  }

  #step(id: number, answer: number): void {
    const engine = this.engine;
    engine.steps[engine.stepsTop++] = id;
    engine.steps[engine.stepsTop++] = answer;
  }

  #marks(id: number): Seen {
    this.#seen ??= this.engine.seen(this.engine.depth - 1);
    if (id >= this.#seen.marks.length) {
      const longer = new Int32Array(id * 2);
      longer.set(this.#seen.marks);
      this.#seen.marks = longer;
    }
    return this.#seen;
  }
}
