import type { Change, Commit, DatabaseOptions, Statistics, Transaction, View } from "./api.js";
import type { QueryContext } from "./definitions/context.js";
import type { Fact } from "./definitions/fact.js";
import type { Collection, Index } from "./definitions/input.js";
import type { Query } from "./definitions/query.js";
import { CycleError, IncrementalError } from "./errors.js";
import type { ExplainedFact, ExplainedQuery, ExplainedRead, Explanation } from "./explanation.js";
import { canonicalKey, lookupKey, type Key, type LookupKey } from "./values/key.js";

interface Outcome {
  value: unknown;
  error: boolean;
  revision: number;
  record: { reads: Map<string, ExplainedRead>; facts: Map<string, ExplainedFact>; calls: Set<ExplainedQuery>; self: ExplainedQuery };
}

interface Frame {
  label: string;
  record: Outcome["record"] | undefined;
}

/** Inputs with their revisions, and the memos computed from them. */
export class Database<C> {
  readonly #tables = new Map<number, Map<string, { value: unknown; changedAt: number }>>();
  readonly #results = new Map<Query<never, unknown>, Map<LookupKey, unknown[]>>();
  readonly #views = new Set<View<C>>();
  #revision = 0;
  #busy = 0;
  #recomputations = 0;
  #hits = 0;
  #answers = 0;

  constructor(_options: DatabaseOptions = {}) {}

  get revision(): number {
    return this.#revision;
  }

  /** Changes inputs as one revision. Values equal to those that they replace change nothing. */
  commit(write: (tx: Transaction) => void): Commit {
    if (this.#busy > 0) throw new IncrementalError("purity", "commit: a query may not write");
    const writes = new Map<Collection<unknown>, Map<string, { value: unknown; present: boolean }>>();
    const put = (of: Collection<unknown>, key: string, value: unknown, present: boolean): void => {
      const entries = writes.get(of) ?? new Map<string, { value: unknown; present: boolean }>();
      writes.set(of, entries.set(key, { value, present }));
    };
    write({
      set: (of, key, value) => put(of as Collection<unknown>, key, value, true),
      delete: (of, key) => put(of, key, undefined, false),
    });
    const changed: Change[] = [];
    for (const [of, entries] of writes) {
      const table = this.#table(of);
      for (const [key, { value, present }] of entries) {
        const before = table.get(key);
        if (present ? before !== undefined && of.equals(before.value, value) : before === undefined) continue;
        changed.push({ collection: of, key });
        if (present) table.set(key, { value, changedAt: this.#revision + 1 });
        else table.delete(key);
      }
    }
    if (changed.length > 0) this.#revision++;
    return { revision: this.#revision, changed };
  }

  read<V>(of: Collection<V>, key: string): V | undefined;
  read<V>(of: Index<V>, bucket: string): readonly V[];
  read(of: Collection<unknown> | Index<unknown>, key: string): unknown {
    if (of.kind === "collection") return this.#table(of).get(key)?.value;
    return this.#sorted(of.collection)
      .filter(([k, { value }]) => [...of.buckets(value, k)].includes(key))
      .map(([, { value }]) => value);
  }

  keys(of: Collection<unknown> | Index<unknown>): readonly string[] {
    if (of.kind === "collection") return this.#sorted(of).map(([key]) => key);
    return [...new Set(this.#sorted(of.collection).flatMap(([k, { value }]) => [...of.buckets(value, k)]))].sort();
  }

  all<V>(of: Collection<V>): readonly V[] {
    return this.#sorted(of).map(([, { value }]) => value as V);
  }

  /** The database as one client sees it. */
  view(client: C): View<C> {
    const memos = new Map<Query<never, unknown>, Map<LookupKey, Outcome>>();
    const active: Frame[] = [];
    let released = false;

    const run = (query: Query<never, unknown>, arg: unknown): Outcome => {
      if (released) throw new IncrementalError("released", `call ${query.name}: the view was released`);
      const key = query.key ? query.key(arg as never) : lookupKey(arg);
      const byKey = memos.get(query) ?? new Map<LookupKey, Outcome>();
      memos.set(query, byKey);
      const known = byKey.get(key);
      if (known?.revision === this.#revision) {
        this.#hits++;
        return known;
      }
      const label = `${query.name}(${arg === undefined ? "" : query.key ? String(key) : canonicalKey(arg)})`;
      const at = active.findIndex((frame) => frame.label === label);
      if (at >= 0) {
        const names = active.slice(at).map((frame) => frame.label);
        const first = names.indexOf([...names].sort()[0] as string);
        throw new CycleError([...names.slice(first), ...names.slice(0, first)]);
      }
      const lists = { reads: [] as ExplainedRead[], facts: [] as ExplainedFact[], calls: [] as ExplainedQuery[] };
      const self: ExplainedQuery = { query: query.name, arg: arg as Key, outcome: "value", changedAt: this.#revision, ...lists };
      const record: Outcome["record"] = { reads: new Map(), facts: new Map(), calls: new Set(), self };
      active.push({ label, record });
      this.#recomputations++;
      this.#busy++;
      let outcome: Outcome;
      const context = makeContext();
      try {
        outcome = { value: query.compute(context.q, arg as never), error: false, revision: this.#revision, record };
      } catch (error) {
        outcome = { value: error, error: true, revision: this.#revision, record };
      } finally {
        context.end();
        this.#busy--;
        active.pop();
      }
      lists.reads.push(...record.reads.values());
      lists.facts.push(...record.facts.values());
      lists.calls.push(...record.calls);
      if (!outcome.error) outcome.value = this.#shared(query, key, known, outcome.value);
      byKey.set(key, outcome);
      return outcome;
    };

    const note = (name: string, read: ExplainedRead): void => void active.at(-1)?.record?.reads.set(name, read);

    const makeContext = (): { q: QueryContext; end(): void } => {
      let ended = false;
      const guard = (): void => {
        if (ended) throw new IncrementalError("purity", "a context was used after its query returned");
      };
      const q: QueryContext = {
        read: (of: Collection<unknown> | Index<unknown>, key: string): never => {
          guard();
          if (of.kind === "collection") {
            const entry = this.#table(of).get(key);
            const read = { kind: "entry", collection: of.name, key, present: entry !== undefined, changedAt: entry?.changedAt ?? 0 } as const;
            note(`entry ${of.id} ${key}`, read);
            return entry?.value as never;
          }
          note(`bucket ${of.id} ${key}`, { kind: "bucket", index: of.name, collection: of.collection.name, bucket: key, changedAt: 0 });
          return this.read(of, key) as never;
        },
        keys: (of) => {
          guard();
          note(`keys ${of.id}`, { kind: "keys", of: of.name, changedAt: 0 });
          return this.keys(of);
        },
        all: (of) => {
          guard();
          note(`all ${of.id}`, { kind: "all", collection: of.name, changedAt: 0 });
          return this.all(of);
        },
        call: (query: Query<never, unknown>, arg?: unknown): never => {
          guard();
          const outcome = run(query, arg);
          active.at(-1)?.record?.calls.add(outcome.record.self);
          if (outcome.error) throw outcome.value;
          return outcome.value as never;
        },
        ask: (fact: Fact<never, never, unknown>, arg?: unknown): never => {
          guard();
          this.#answers++;
          active.push({ label: `${fact.name}(${arg === undefined ? "" : canonicalKey(arg)})`, record: undefined });
          const context = makeContext();
          let answer: unknown;
          try {
            answer = fact.compute(client as never, arg as never, context.q);
          } finally {
            context.end();
            active.pop();
          }
          const explained = { fact: fact.name, arg: arg as Key, answer, reads: [], calls: [] };
          active.at(-1)?.record?.facts.set(`${fact.id} ${canonicalKey(arg)}`, explained);
          return answer as never;
        },
      };
      return { q, end: () => void (ended = true) };
    };

    const view: View<C> = {
      client,
      call: (query: Query<never, unknown>, arg?: unknown): never => {
        if (this.#busy > 0) throw new IncrementalError("purity", `call ${query.name}: use the context inside a query`);
        const outcome = run(query, arg);
        if (outcome.error) throw outcome.value;
        return outcome.value as never;
      },
      explain: (query: Query<never, unknown>, arg?: unknown): Explanation => {
        const tree = run(query, arg).record.self;
        const queries = new Set<ExplainedQuery>();
        const visit = (node: ExplainedQuery): void => {
          if (queries.has(node)) return;
          queries.add(node);
          node.calls.forEach(visit);
        };
        visit(tree);
        const inputs = [...queries].flatMap((node) => node.reads);
        return { tree, inputs, facts: [...queries].flatMap((node) => node.facts), queries: [...queries] };
      },
      release: () => {
        released = true;
        this.#views.delete(view);
      },
    };
    this.#views.add(view);
    return view;
  }

  stats(): Statistics {
    return {
      revision: this.#revision,
      views: this.#views.size,
      memos: 0,
      edges: 0,
      facts: 0,
      bytes: 0,
      recomputations: this.#recomputations,
      verifications: 0,
      hits: this.#hits,
      answers: this.#answers,
    };
  }

  #table(of: Collection<unknown>): Map<string, { value: unknown; changedAt: number }> {
    const table = this.#tables.get(of.id) ?? new Map<string, { value: unknown; changedAt: number }>();
    this.#tables.set(of.id, table);
    return table;
  }

  #sorted(of: Collection<unknown>): [string, { value: unknown; changedAt: number }][] {
    return [...this.#table(of)].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  #shared(query: Query<never, unknown>, key: LookupKey, before: Outcome | undefined, value: unknown): unknown {
    if (before && !before.error && query.equals(before.value, value)) return before.value;
    const byKey = this.#results.get(query) ?? new Map<LookupKey, unknown[]>();
    this.#results.set(query, byKey);
    const values = byKey.get(key) ?? [];
    byKey.set(key, values);
    const same = values.find((other) => query.equals(other, value));
    if (same !== undefined) return same;
    values.push(value);
    return value;
  }
}

