import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Database, structurallyEqual } from "@istiod/incremental";
import {
  clients,
  define,
  edits,
  emptyModel,
  note,
  programs,
  put,
  type Client,
  type Edit,
  type Model,
} from "./random-program.js";
import { type Outcome, outcomeFromScratch, outcomeOf, roots } from "./outcome.js";
import { Reference } from "./reference.js";

const runs = Number(process.env["PROPERTY_RUNS"] ?? 100);

function apply(db: Database<Client>, model: Model, edit: Edit): void {
  db.commit((tx) => put(tx, edit));
  note(model, edit);
}

describe("after every commit, every result of every client", { timeout: 600_000 }, () => {
  it("equals a computation without an engine, is the same object if it is equal to the previous one, and no query runs whose reads are unchanged", () => {
    fc.assert(
      fc.property(
        programs(false),
        clients,
        edits,
        fc.integer({ min: 1, max: 10 }),
        (program, people, commits, rootCount) => {
          let ran: string[] = [];
          let answered: string[] = [];
          const { queries } = define(
            program,
            (query, arg) => ran.push(`q${query}(${arg})`),
            (fact, arg) => answered.push(`f${fact}(${arg})`),
          );
          const db = new Database<Client>();
          const model = emptyModel();
          const views = people.map((client) => ({
            client,
            view: db.view(client),
            before: undefined as Reference | undefined,
            results: [] as Outcome[],
          }));
          for (const edit of [[], ...commits]) {
            apply(db, model, edit);
            const shared = new Map<string, unknown[]>();
            for (const state of views) {
              const reference = new Reference(program, model, state.client);
              ran = [];
              answered = [];
              const results = roots
                .slice(0, rootCount)
                .map(({ query, arg }) => outcomeOf(() => state.view.call(queries[query]!, arg)));
              roots.slice(0, rootCount).forEach(({ query, arg }, i) => {
                const expected = reference.call(query, arg);
                const actual = results[i]!;
                expect(actual).toEqual({ value: expected.value, error: expected.error });
                const before = state.results[i];
                if (before !== undefined && structurallyEqual(before.value, actual.value))
                  expect(actual.value).toBe(before.value);
                const others = shared.get(`${query} ${arg}`) ?? [];
                for (const other of others)
                  if (structurallyEqual(other, actual.value)) expect(actual.value).toBe(other);
                shared.set(`${query} ${arg}`, [...others, actual.value]);
              });
              for (const name of ran) {
                const trace = state.before?.queries.get(name)?.trace;
                if (trace !== undefined)
                  expect(`${name} read\n${reference.queries.get(name)?.trace}`).not.toBe(`${name} read\n${trace}`);
              }
              for (const name of answered) {
                const trace = state.before?.facts.get(name)?.trace;
                if (trace !== undefined)
                  expect(`${name} read\n${reference.facts.get(name)?.trace}`).not.toBe(`${name} read\n${trace}`);
              }
              expect(new Set(ran).size).toBe(ran.length);
              state.before = reference;
              state.results = results;
            }
          }
        },
      ),
      { numRuns: runs },
    );
  });

  it("equals that of a new database, whatever was called, released and dropped before, also in programs with cycles; nothing is left in the end", () => {
    fc.assert(
      fc.property(programs(true), clients, edits, fc.infiniteStream(fc.nat()), (program, people, commits, choices) => {
        const nothing = (): void => {};
        const { queries } = define(program, nothing, nothing);
        const db = new Database<Client>({ keepRevisions: 3, keepUnused: 3 });
        const model = emptyModel();
        const choose = (count: number): number => choices.next().value! % count;
        const views = people.map((client) => ({ client, view: db.view(client) }));
        for (const edit of [[], ...commits]) {
          apply(db, model, edit);
          for (let i = 0; i < 6; i++) {
            const state = views[choose(views.length)]!;
            const { query, arg } = roots[choose(roots.length)]!;
            expect(outcomeOf(() => state.view.call(queries[query]!, arg))).toEqual(
              outcomeFromScratch(program, model, state.client, query, arg),
            );
          }
          if (choose(4) === 0) {
            const state = views[choose(views.length)]!;
            state.view.release();
            state.view = db.view(state.client);
          }
          if (choose(8) === 0) db.evict();
        }
        for (const { view } of views) view.release();
        db.evict();
        db.evict();
        expect(db.stats()).toMatchObject({ views: 0, memos: 0, edges: 0, facts: 0 });
      }),
      { numRuns: runs },
    );
  });
});
