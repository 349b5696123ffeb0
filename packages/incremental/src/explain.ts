import type { ClientView } from "./client-view.js";
import type { Engine } from "./evaluation/engine.js";
import type { ExplainedFact, ExplainedQuery, ExplainedRead, Explanation } from "./explanation.js";
import type { IndexTable } from "./inputs/index-table.js";
import { Input } from "./inputs/input.js";
import { Call } from "./records/call.js";
import type { Dependency, Memo } from "./records/memo.js";
import { Refusal, type Question } from "./records/question.js";
import type { Key } from "./values/key.js";

/** Tells from the records what a client's memo was made from. Nothing is computed. */
export function explain(engine: Engine, client: ClientView<unknown>, memo: Memo): Explanation {
  return new Explainer(engine, client).explanation(memo);
}

interface Parts {
  readonly reads: ExplainedRead[];
  readonly facts: ExplainedFact[];
  readonly calls: ExplainedQuery[];
}

class Explainer {
  readonly #queries = new Map<Memo, ExplainedQuery>();
  readonly #facts = new Map<number, ExplainedFact>();
  readonly #inputs = new Map<Input, ExplainedRead>();

  constructor(
    readonly engine: Engine,
    readonly client: ClientView<unknown>,
  ) {}

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
      const outcome = memo.failed ? "error" : "value";
      known = {
        query: call.query.name,
        definition: call.query,
        arg: call.arg as Key,
        outcome,
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
      const question = this.engine.questions.byId[id] as Question;
      const parts: Parts = { reads: [], facts: [], calls: [] };
      const answer = question.answer(Math.abs(this.client.answers[id] as number));
      const failed = answer instanceof Refusal;
      known = { fact: question.fact.name, arg: question.arg as Key, answer: failed ? answer.error : answer, ...parts };
      this.#facts.set(id, known);
      this.#collect(this.client.answerMemos.get(id)?.dependencies ?? [], parts);
    }
    return known;
  }

  #collect(dependencies: readonly Dependency[], into: Parts): void {
    for (const dependency of dependencies) {
      if (typeof dependency === "number") into.facts.push(this.#fact(dependency));
      else if (dependency instanceof Input) this.#read(dependency, into);
      else if (dependency.owner instanceof Call) into.calls.push(this.#query(dependency));
      else into.facts.push(this.#fact(dependency.owner.id));
    }
  }

  #read(input: Input, into: Parts): void {
    if (input.home.of === null) return;
    let known = this.#inputs.get(input);
    if (known === undefined) this.#inputs.set(input, (known = read(input, input.home.of)));
    into.reads.push(known);
  }
}

function read(input: Input, of: NonNullable<Input["home"]["of"]>): ExplainedRead {
  const { key, changedAt } = input;
  if (input.kind === "keys")
    return { kind: "keys", of: of.name, collection: of.kind === "index" ? of.collection.name : of.name, changedAt };
  if (of.kind === "index") {
    const members = (input.home as IndexTable).members(key);
    return { kind: "bucket", index: of.name, collection: of.collection.name, bucket: key, members, changedAt };
  }
  if (input.kind === "all") return { kind: "all", collection: of.name, changedAt };
  return { kind: "entry", collection: of.name, key, present: input.present, changedAt };
}
