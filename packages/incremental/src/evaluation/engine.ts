import type { IndexFailure } from "../api.js";
import { Inputs } from "../inputs/inputs.js";
import type { Call } from "../records/call.js";
import type { Client } from "../records/client.js";
import { Clients } from "../records/clients.js";
import type { Memo } from "../records/memo.js";
import type { Question } from "../records/question.js";
import { Store } from "../records/store.js";
import { UnusedRecords } from "../retention/unused-records.js";
import { ActiveStack } from "./active-stack.js";
import { Counters } from "./counters.js";
import { Workspace } from "./workspace.js";

/** The entry points of evaluation through which calls and facts evaluate each other. */
export interface Evaluator {
  /** Returns the valid memo of a call for the active client: see `fetch`. */
  fetch(engine: Engine, call: Call): Memo;
  /** Returns the number of a client's answer: see `answer`. */
  answer(engine: Engine, client: Client, question: Question): number;
}

/** The parts of a database: its inputs, its records, and the computations in progress. */
export class Engine {
  readonly inputs: Inputs;
  readonly store = new Store();
  readonly clients = new Clients();
  readonly unused = new UnusedRecords();
  readonly active = new ActiveStack();
  readonly workspace = new Workspace();
  readonly counters = new Counters();
  /** The number of edges between nodes of the dependency graph. */
  edges = 0;
  /** True if writes are being collected. */
  writing = false;

  /** `onIndexFailure` receives entries for which an index's function throws. */
  constructor(
    readonly evaluator: Evaluator,
    onIndexFailure: (failure: IndexFailure) => void,
  ) {
    this.inputs = new Inputs(onIndexFailure);
  }

  get revision(): number {
    return this.inputs.revision;
  }

  /** Drops every record; inputs and views remain. */
  reset(): void {
    this.inputs.detach();
    this.store.clear();
    this.unused.clear();
    this.workspace.clear();
    this.active.clear();
    this.clients.reset();
    this.edges = 0;
  }
}
