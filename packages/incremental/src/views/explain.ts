import type { Collection, Index } from "../definitions/context.js";
import type { Engine } from "../evaluation/engine.js";
import type { IndexTable } from "../inputs/index-table.js";
import { Input } from "../inputs/input.js";
import { Call } from "../records/call.js";
import type { Client } from "../records/client.js";
import type { Dependency, Memo } from "../records/memo.js";
import { ThrownAnswer, type Question } from "../records/question.js";
import type { Key } from "../values/key.js";
import type { ExplainedFact, ExplainedQuery, ExplainedRead, Explanation } from "./explanation.js";

/** Explains a client's memo from its records, without computing anything. */
export function explain(engine: Engine, client: Client, memo: Memo): Explanation {
  return new Explainer(engine, client).explanation(memo);
}

interface Parts {
  readonly reads: ExplainedRead[];
  readonly facts: ExplainedFact[];
  readonly calls: ExplainedQuery[];
}

class Explainer {
  readonly #engine: Engine;
  readonly #client: Client;
  readonly #queries = new Map<Memo, ExplainedQuery>();
  readonly #facts = new Map<number, ExplainedFact>();
  readonly #inputs = new Map<Input, ExplainedRead>();

  constructor(engine: Engine, client: Client) {
    this.#engine = engine;
    this.#client = client;
  }

  explanation(memo: Memo): Explanation {
    const tree = this.#query(memo);
    return {
      tree,
      inputs: [...this.#inputs.values()],
      facts: [...this.#facts.values()],
      queries: [...this.#queries.values()],
    };
  }

  #query(memo: Memo): ExplainedQuery {
    let known = this.#queries.get(memo);
    if (known === undefined) {
      const call = memo.owner as Call;
      const parts: Parts = { reads: [], facts: [], calls: [] };
      known = {
        query: call.query.name,
        definition: call.query,
        arg: call.arg as Key,
        outcome: memo.failed ? "error" : "value",
        result: memo.value,
        changedAt: memo.changedAt,
        ...parts,
      };
      this.#queries.set(memo, known);
      this.#collect(memo.dependencies, parts);
    }
    return known;
  }

  #fact(id: number): ExplainedFact {
    let known = this.#facts.get(id);
    if (known === undefined) {
      const question = this.#engine.store.questions.byId[id] as Question;
      const parts: Parts = { reads: [], facts: [], calls: [] };
      const outcome = question.answer(Math.abs(this.#client.answers[id] as number));
      const answer = outcome instanceof ThrownAnswer ? outcome.error : outcome;
      known = { fact: question.fact.name, arg: question.arg as Key, answer, ...parts };
      this.#facts.set(id, known);
      this.#collect(this.#client.answerMemos.get(id)?.dependencies ?? [], parts);
    }
    return known;
  }

  #collect(dependencies: readonly Dependency[], into: Parts): void {
    for (const dependency of dependencies) {
      if (typeof dependency === "number") into.facts.push(this.#fact(dependency));
      else if (dependency instanceof Input) this.#read(dependency, into);
      else {
        const memo = dependency as Memo;
        if (memo.owner instanceof Call) into.calls.push(this.#query(memo));
        else into.facts.push(this.#fact((memo.owner as Question).id));
      }
    }
  }

  #read(input: Input, into: Parts): void {
    const { of } = input.table;
    if (of === null) return;
    let known = this.#inputs.get(input);
    if (known === undefined) this.#inputs.set(input, (known = read(input, of)));
    into.reads.push(known);
  }
}

function read(input: Input, of: Collection<unknown> | Index<unknown>): ExplainedRead {
  const { key, changedAt } = input;
  if (input.kind === "keys") {
    const collection = of.kind === "index" ? of.collection.name : of.name;
    return { kind: "keys", of: of.name, collection, changedAt };
  }
  if (of.kind === "index") {
    const members = (input.table as IndexTable).members(key);
    return { kind: "bucket", index: of.name, collection: of.collection.name, bucket: key, members, changedAt };
  }
  if (input.kind === "all") return { kind: "all", collection: of.name, changedAt };
  return { kind: "entry", collection: of.name, key, present: input.present, changedAt };
}
