import type { ClientView } from "../client-view.js";
import { Inputs } from "../inputs/inputs.js";
import { CallTable, type AnyQuery, type Call } from "../records/call.js";
import type { Dependency } from "../records/memo.js";
import { Paths } from "../records/path.js";
import { Questions } from "../records/question.js";
import { Retention } from "../retention/retention.js";
import type { Root } from "../retention/roots.js";
import type { Activation } from "./activation.js";
import type { Frame } from "./frame.js";

/** Which questions a computation has noted, by their ids: see `Recording`. */
export interface Seen {
  marks: Int32Array;
  last: number;
}

/** All state of a database: its inputs, the records, and what is under way. */
export class Engine {
  readonly inputs = new Inputs();
  readonly paths = new Paths();
  readonly questions = new Questions();
  readonly retention: Retention;
  readonly clients = new Set<ClientView<unknown>>();
  readonly #calls: (CallTable | undefined)[] = [];

  /** The client whose call is under way. */
  client: ClientView<unknown> | null = null;
  /** The function under way. */
  frame: Frame | null = null;
  readonly stack: (Activation | undefined)[] = [];
  depth = 0;
  /** Whether records were left incomplete by an error that no query threw, such as a stack overflow. */
  broken = false;
  committing = false;
  /** How many results are followed. */
  followed = 0;
  /** What was followed when all records were forgotten: the next commit names it. */
  lost: Root[] = [];

  /** Dependencies noted by the frames under way: each has its own stretch, the innermost last. */
  readonly noted: Dependency[] = [];
  notedTop = 0;
  /** Steps of paths, likewise. */
  readonly steps: number[] = [];
  stepsTop = 0;
  readonly #seen: Seen[] = [];

  /** Numbers runs and passes over records; what carries an older number as its mark was not met in this one. */
  runs = 0;
  /** Numbers states of clients' answers. */
  states = 0;

  memos = 0;
  edges = 0;
  newAnswers = 0;
  recomputations = 0;
  replacements = 0;
  drops = 0;
  verifications = 0;
  hits = 0;
  answers = 0;

  constructor(keepRevisions: number, keepUnused: number) {
    this.retention = new Retention(keepRevisions, keepUnused);
  }

  get revision(): number {
    return this.inputs.revision;
  }

  call(query: AnyQuery, arg: unknown): Call {
    let table = this.#calls[query.id];
    if (table === undefined) this.#calls[query.id] = table = new CallTable(query);
    return table.call(arg);
  }

  /** The marks for what runs at a depth. Marks of `last` and more are its own. */
  seen(depth: number): Seen {
    let seen = this.#seen[depth];
    const questions = this.questions.byId.length;
    if (seen === undefined) this.#seen[depth] = seen = { marks: new Int32Array(Math.max(64, questions * 2)), last: 0 };
    seen.last += 2;
    if (seen.last > 0x7ffffff0) {
      seen.marks.fill(0);
      seen.last = 2;
    }
    return seen;
  }

  /** Forgets every record; inputs and views stand. */
  forget(): void {
    this.inputs.detach();
    this.paths.clear();
    this.questions.clear();
    this.retention.clear();
    this.#calls.length = this.stack.length = this.noted.length = this.steps.length = this.#seen.length = 0;
    this.depth = this.notedTop = this.stepsTop = this.memos = this.edges = 0;
    this.frame = this.client = null;
    this.broken = false;
    for (const client of this.clients) client.forget();
    this.followed = 0;
  }
}
