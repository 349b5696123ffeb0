import type { DryRun, View } from "../api.js";
import { IncrementalError } from "../errors.js";
import type { Engine } from "../evaluation/engine.js";
import type { Writes } from "../inputs/plan.js";
import type { AnyQuery } from "../records/call.js";
import type { ClientView } from "../views/client-view.js";
import { DryRunInputs } from "./dry-run-inputs.js";
import { Evaluation, type Results } from "./evaluation.js";
import { ReachedRecords } from "./reached.js";

/**
 * The results of a database as they would be after some writes. Only records that depend on the changed inputs are
 * visited, in the order of their reads, and recomputed only if a read differs. The records themselves are not changed.
 */
export class EngineDryRun<C> implements DryRun<C> {
  readonly #engine: Engine;
  readonly #inputs: DryRunInputs;
  readonly #reached: ReachedRecords;
  readonly #results: Results = new Map();
  readonly #revision: number;
  readonly #workBefore: number;
  #isPrepared = false;

  constructor(engine: Engine, writes: Writes) {
    this.#engine = engine;
    this.#workBefore = engine.counters.work;
    this.#inputs = new DryRunInputs(engine.inputs, writes);
    this.#reached = new ReachedRecords(this.#inputs, engine.revision);
    this.#revision = engine.revision;
  }

  *prepare(): Generator<void> {
    while (!this.#isPrepared) {
      this.#isPrepared = this.#reached.search().next().done === true;
      yield;
    }
  }

  call(view: View<C>, query: AnyQuery, arg?: unknown): never {
    const engine = this.#engine;
    if (engine.revision !== this.#revision) {
      throw new IncrementalError("released", `${query.name}: the dry run is outdated, something was committed since`);
    }
    for (const _ of this.prepare());
    const evaluation = new Evaluation({
      engine,
      view: view as ClientView<unknown>,
      inputs: this.#inputs,
      reached: this.#reached,
      results: this.#results,
      workBefore: this.#workBefore,
    });
    const { value, failed } = evaluation.call(query, arg);
    if (failed) throw value;
    return value as never;
  }
}
