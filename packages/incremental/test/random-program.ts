import * as fc from "fast-check";
import {
  collection,
  fact,
  index,
  query,
  type Fact,
  type Query,
  type QueryContext,
  type Transaction,
} from "@istiod/incremental";

export interface Item {
  readonly n: number;
  readonly tags: readonly string[];
}
export interface Client {
  readonly zone: number;
  readonly level: number;
}

export const keys = ["a", "b", "c", "d"];
export const tags = ["x", "y", "z"];
export const calls = 5;
export const facts = 5;

/** A random query body. `arg` is the argument of the query (0 or 1). */
export type Expression =
  | { readonly is: "constant"; readonly n: number }
  | { readonly is: "arg" }
  | { readonly is: "read" | "present"; readonly key: string }
  | { readonly is: "bucket" | "members"; readonly tag: string }
  | { readonly is: "keys" | "tags" | "all" }
  | { readonly is: "ask"; readonly fact: number; readonly arg: Expression }
  | { readonly is: "call"; readonly query: number; readonly arg: Expression }
  | { readonly is: "if"; readonly test: Expression; readonly then: Expression; readonly otherwise: Expression }
  | { readonly is: "pair"; readonly left: Expression; readonly right: Expression }
  | { readonly is: "parity"; readonly of: Expression }
  | { readonly is: "throw"; readonly of: Expression }
  | { readonly is: "catch"; readonly attempt: Expression; readonly fallback: Expression };

export interface Program {
  readonly queries: readonly Expression[];
  /** Facts in addition to the two that read only the client. */
  readonly facts: readonly Expression[];
}

/** The reads of a body, implemented by the engine and by the reference. */
export interface Reader {
  read(key: string): Item | undefined;
  bucket(tag: string): readonly Item[];
  members(tag: string): readonly string[];
  keys(): readonly string[];
  tags(): readonly string[];
  all(): readonly Item[];
  ask(fact: number, arg: number): unknown;
  call(query: number, arg: number): unknown;
}

export function evaluate(body: Expression, reader: Reader, arg: number): unknown {
  const run = (expression: Expression): unknown => evaluate(expression, reader, arg);
  switch (body.is) {
    case "constant":
      return body.n;
    case "arg":
      return arg;
    case "read":
      return reader.read(body.key)?.n ?? -1;
    case "present":
      return reader.read(body.key) !== undefined;
    case "bucket":
      return reader.bucket(body.tag).map((item) => item.n);
    case "members":
      return reader.members(body.tag);
    case "keys":
      return reader.keys();
    case "tags":
      return reader.tags();
    case "all":
      return { sum: reader.all().reduce((sum, item) => sum + item.n, 0) };
    case "ask":
      return reader.ask(body.fact, bit(run(body.arg)));
    case "call":
      return reader.call(body.query, bit(run(body.arg)));
    case "if":
      return bit(run(body.test)) === 1 ? run(body.then) : run(body.otherwise);
    case "pair":
      return { left: run(body.left), right: run(body.right) };
    case "parity":
      return { parity: bit(run(body.of)) };
    case "throw": {
      const value = run(body.of);
      if (bit(value) === 1) throw new Error(`odd ${JSON.stringify(value)}`);
      return value;
    }
    case "catch":
      try {
        return run(body.attempt);
      } catch (error) {
        return { caught: (error as Error).message, instead: run(body.fallback) };
      }
  }
}

function bit(value: unknown): number {
  let sum = 0;
  for (const char of JSON.stringify(value) ?? "") sum += char.charCodeAt(0);
  return sum & 1;
}

/** Keys of items that are hidden from queries. */
export const hidden = collection<true>("Hidden");
export const items = collection<Item>("Item", {
  filter: (q) => (q.keys(hidden).length === 0 ? undefined : (key) => q.read(hidden, key) === undefined),
});
export const byTag = index(items, "byTag", tagsOf);

/** Returns the tags of an item. Throws for one that cannot be indexed. */
function tagsOf(item: Item): readonly string[] {
  if (item.tags.includes("bad")) throw new Error("bad tag");
  return item.tags;
}

/** Returns the tags by which the engine finds an item. */
export function indexedTags(item: Item): readonly string[] {
  return item.tags.includes("bad") ? [] : item.tags;
}

/**
 * Returns the program as definitions of the engine. Calls `ran` for each query that runs, and `answered` for each fact.
 */
export function define(
  program: Program,
  ran: (query: number, arg: number) => void,
  answered: (fact: number, arg: number) => void,
) {
  const definedQueries: Query<number, unknown>[] = [];
  const definedFacts: Fact<Client, number, unknown>[] = [];
  const reader = (q: QueryContext): Reader => ({
    read: (key) => q.read(items, key),
    bucket: (tag) => q.read(byTag, tag),
    members: (tag) => q.members(byTag, tag),
    keys: () => q.keys(items),
    tags: () => q.keys(byTag),
    all: () => q.all(items),
    ask: (number, arg) => q.ask(definedFacts[number]!, arg),
    call: (number, arg) => q.call(definedQueries[number]!, arg),
  });
  program.queries.forEach((body, number) => {
    definedQueries[number] = query(`q${number}`, (q, arg: number) => {
      ran(number, arg);
      return evaluate(body, reader(q), arg);
    });
  });
  definedFacts[0] = fact("zone", (client: Client, arg: number) => client.zone * (1 + arg));
  definedFacts[1] = fact("atLeast", (client: Client, arg: number) => client.level >= arg);
  program.facts.forEach((body, number) => {
    definedFacts[number + 2] = fact(`f${number + 2}`, (client: Client, arg: number, q) => {
      answered(number + 2, arg);
      return { of: client.level % 2, value: evaluate(body, reader(q), arg) };
    });
  });
  return { queries: definedQueries, facts: definedFacts };
}

const leaf: fc.Arbitrary<Expression> = fc.oneof(
  fc.record({ is: fc.constant("constant" as const), n: fc.integer({ min: 0, max: 1 }) }),
  fc.constant({ is: "arg" as const }),
  fc.record({ is: fc.constantFrom("read" as const, "present" as const), key: fc.constantFrom(...keys) }),
  fc.record({ is: fc.constantFrom("bucket" as const, "members" as const), tag: fc.constantFrom(...tags) }),
  fc.record({ is: fc.constantFrom("keys" as const, "tags" as const, "all" as const) }),
);

function expression(queriesFrom: number, factsFrom: number, depth: number): fc.Arbitrary<Expression> {
  if (depth === 0) return leaf;
  const inner = expression(queriesFrom, factsFrom, depth - 1);
  const options: fc.Arbitrary<Expression>[] = [
    leaf,
    fc.record({ is: fc.constant("if" as const), test: inner, then: inner, otherwise: inner }),
    fc.record({ is: fc.constant("if" as const), test: inner, then: inner, otherwise: inner }),
    fc.record({ is: fc.constant("pair" as const), left: inner, right: inner }),
    fc.record({ is: fc.constant("parity" as const), of: inner }),
    fc.record({ is: fc.constant("throw" as const), of: inner }),
    fc.record({ is: fc.constant("catch" as const), attempt: inner, fallback: inner }),
    fc.record({ is: fc.constant("ask" as const), fact: fc.integer({ min: 0, max: 1 }), arg: leaf }),
  ];
  if (factsFrom < facts) {
    options.push(
      fc.record({ is: fc.constant("ask" as const), fact: fc.integer({ min: factsFrom, max: facts - 1 }), arg: leaf }),
    );
  }
  if (queriesFrom < calls) {
    const call = fc.record({
      is: fc.constant("call" as const),
      query: fc.integer({ min: queriesFrom, max: calls - 1 }),
      arg: leaf,
    });
    options.push(call, call);
  }
  return fc.oneof(...options);
}

/**
 * Programs without cycles: a query calls and asks only what has a higher number (facts are between the queries), or
 * with them.
 */
export function programs(cyclic: boolean): fc.Arbitrary<Program> {
  return fc.record({
    queries: fc.tuple(
      ...Array.from({ length: calls }, (_, i) => expression(cyclic ? 0 : i + 1, cyclic ? 2 : 2 + Math.min(i, 3), 3)),
    ),
    facts: fc.tuple(
      ...Array.from({ length: facts - 2 }, (_, i) => expression(cyclic ? 0 : i + 2, cyclic ? 2 : i + 3, 2)),
    ),
  });
}

export type Edit = readonly {
  readonly key: string;
  readonly item: Item | undefined;
  readonly hide: boolean | undefined;
}[];

export interface Model {
  readonly items: Map<string, Item>;
  readonly hidden: Set<string>;
}

export function emptyModel(): Model {
  return { items: new Map(), hidden: new Set() };
}

export function put(tx: Transaction, edit: Edit): void {
  for (const { key, item, hide } of edit) {
    if (item === undefined) tx.delete(items, key);
    else tx.set(items, key, item);
    if (hide === true) tx.set(hidden, key, true);
    if (hide === false) tx.delete(hidden, key);
  }
}

export function note(model: Model, edit: Edit): void {
  for (const { key, item, hide } of edit) {
    if (item === undefined) model.items.delete(key);
    else model.items.set(key, item);
    if (hide === true) model.hidden.add(key);
    if (hide === false) model.hidden.delete(key);
  }
}

const item: fc.Arbitrary<Item> = fc.record(
  { n: fc.integer({ min: 0, max: 2 }), tags: fc.uniqueArray(fc.constantFrom(...tags, "bad"), { maxLength: 2 }) },
  { noNullPrototype: true },
);

export const edits: fc.Arbitrary<readonly Edit[]> = fc.array(
  fc.array(
    fc.record({
      key: fc.constantFrom(...keys),
      item: fc.option(item, { nil: undefined }),
      hide: fc.constantFrom(undefined, undefined, undefined, true, false),
    }),
    { minLength: 1, maxLength: 2 },
  ),
  { minLength: 1, maxLength: 12 },
);

export const clients: fc.Arbitrary<readonly Client[]> = fc.array(
  fc.record({ zone: fc.integer({ min: 0, max: 3 }), level: fc.integer({ min: 0, max: 3 }) }),
  { minLength: 1, maxLength: 12 },
);
