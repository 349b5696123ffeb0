import {
  evaluate,
  indexedTags,
  type Client,
  type Item,
  type Model,
  type Program,
  type Reader,
} from "./random-program.js";

export interface Outcome {
  readonly value: unknown;
  readonly error: string | undefined;
  /** Its own reads with their results, in order, and the questions to the client, its own and those of calls. */
  readonly trace: string;
  readonly asked: ReadonlyMap<string, string>;
}

/** The results of a program for one client, computed without an engine. For programs without cycles. */
export class Reference {
  readonly queries = new Map<string, Outcome>();
  readonly facts = new Map<string, Outcome>();

  constructor(
    readonly program: Program,
    readonly model: Model,
    readonly client: Client,
  ) {}

  call(query: number, arg: number): Outcome {
    return this.#run(this.queries, `q${query}(${arg})`, this.program.queries[query]!, arg, (value) => value);
  }

  #ask(fact: number, arg: number): Outcome {
    const plain = (value: unknown): Outcome => ({ value, error: undefined, trace: "", asked: new Map() });
    if (fact === 0) return plain(this.client.zone * (1 + arg));
    if (fact === 1) return plain(this.client.level >= arg);
    const of = this.client.level % 2;
    return this.#run(this.facts, `f${fact}(${arg})`, this.program.facts[fact - 2]!, arg, (value) => ({ of, value }));
  }

  #run(
    known: Map<string, Outcome>,
    name: string,
    body: Parameters<typeof evaluate>[0],
    arg: number,
    wrap: (value: unknown) => unknown,
  ) {
    const before = known.get(name);
    if (before !== undefined) return before;
    const trace: string[] = [];
    const asked = new Map<string, string>();
    const note = <T>(what: string, result: T): T => {
      trace.push(`${what}=${JSON.stringify(result)}`);
      return result;
    };
    const take = (what: string, outcome: Outcome): unknown => {
      note(what, [outcome.error, outcome.value]);
      for (const [question, answer] of outcome.asked) asked.set(question, answer);
      if (what.startsWith("ask")) asked.set(what, JSON.stringify([outcome.error, outcome.value]));
      if (outcome.error !== undefined) throw new Error(outcome.error);
      return outcome.value;
    };
    const sorted = [...this.model.items].sort(([a], [b]) => (a < b ? -1 : 1));
    const { hidden } = this.model;
    /** Returns the entries that are not hidden. Reads what is hidden only if there are entries. */
    const met = (entries: readonly (readonly [string, Item])[]): readonly (readonly [string, Item])[] => {
      if (entries.length === 0 || note("hidden", [...hidden].sort()).length === 0) return entries;
      return entries.filter(([key]) => !note(`hidden ${key}`, hidden.has(key)));
    };
    const bucket = (tag: string) =>
      met(
        note(
          `bucket ${tag}`,
          sorted.filter(([, item]) => indexedTags(item).includes(tag)),
        ),
      );
    const entry = (key: string) => {
      const item = note(`read ${key}`, this.model.items.get(key));
      return item === undefined ? [] : [[key, item] as const];
    };
    const reader: Reader = {
      read: (key) => met(entry(key))[0]?.[1],
      bucket: (tag) => bucket(tag).map(([, item]) => item),
      members: (tag) => {
        const inBucket = sorted.filter(([, item]) => indexedTags(item).includes(tag)).map(([key]) => key);
        return met(note(`members ${tag}`, inBucket).map((key) => [key, { n: 0, tags: [] }])).map(([key]) => key);
      },
      keys: () =>
        met(
          note(
            "keys",
            sorted.map(([key]) => key),
          ).map((key) => [key, { n: 0, tags: [] }]),
        ).map(([key]) => key),
      tags: () => {
        const names = note("tags", [...new Set(sorted.flatMap(([, item]) => indexedTags(item)))].sort());
        return names.length === 0 || note("hidden", [...hidden].sort()).length === 0
          ? names
          : names.filter((tag) => bucket(tag).length > 0);
      },
      all: () => met(note("all", sorted)).map(([, item]) => item),
      ask: (fact, n) => take(`ask ${fact} ${n}`, this.#ask(fact, n)),
      call: (query, n) => take(`call ${query} ${n}`, this.call(query, n)),
    };
    let value: unknown;
    let error: string | undefined;
    try {
      value = wrap(evaluate(body, reader, arg));
    } catch (thrown) {
      error = (thrown as Error).message;
    }
    const outcome = { value, error, trace: [...trace, ...asked].join("\n"), asked };
    known.set(name, outcome);
    return outcome;
  }
}
