import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { collection, Database, fact, query, type Query, type View } from "@istiod/incremental";
import { clients, define, edits, emptyModel, note, programs, put, type Client, type Edit } from "./random-program.js";
import { type Outcome, outcomeFromScratch, outcomeOf, roots } from "./outcome.js";

const runs = Number(process.env["PROPERTY_RUNS"] ?? 100);
const nothing = (): void => {};

interface Follower {
  readonly client: Client;
  view: View<unknown>;
  /** The outcome of each followed root when it was last called, and whether a commit has reported it since. */
  readonly known: Map<number, { outcome: Outcome; reported: boolean }>;
}

/**
 * Follows random roots of random programs, calls only some of the reported ones again, and compares the others with a
 * computation from scratch.
 */
function laws(cyclic: boolean, keepRevisions: number, seed?: number): void {
  fc.assert(
    fc.property(programs(cyclic), clients, edits, fc.infiniteStream(fc.nat()), (program, people, commits, choices) => {
      const { queries } = define(program, nothing, nothing);
      const db = new Database<Client>({ keepRevisions });
      const model = emptyModel();
      const choose = (count: number): number => choices.next().value! % count;
      const followers: Follower[] = people.map((client) => ({
        client,
        view: db.view(client) as View<unknown>,
        known: new Map(),
      }));
      const follow = ({ view, known }: Follower, at: number): void => {
        const { query, arg } = roots[at]!;
        known.set(at, { outcome: outcomeOf(() => view.follow(queries[query]!, arg)), reported: false });
      };
      const commit = (edit: Edit): void => {
        const { affected } = db.commit((tx) => put(tx, edit));
        note(model, edit);
        expect(new Set(affected).size).toBe(affected.length);
        for (const { view, query, arg } of affected) {
          const follower = followers.find((one) => one.view === view);
          const known = follower?.known.get(
            roots.findIndex((root) => (queries[root.query]! as Query<never, unknown>) === query && root.arg === arg),
          );
          expect(known, "only followed results are reported").toBeDefined();
          known!.reported = true;
        }
      };
      for (const edit of [[], ...commits]) {
        commit(edit);
        for (let i = 0; i < 8; i++) {
          const follower = followers[choose(followers.length)]!;
          const at = choose(roots.length);
          switch (choose(8)) {
            case 0: {
              const { query, arg } = roots[at]!;
              follower.view.unfollow(queries[query]!, arg);
              follower.known.delete(at);
              break;
            }
            case 1:
              follower.view.release();
              follower.view = db.view(follower.client);
              follower.known.clear();
              break;
            case 2:
              outcomeOf(() => follower.view.call(queries[roots[at]!.query]!, roots[at]!.arg));
              break;
            default:
              follow(follower, at);
          }
        }
        if (choose(8) === 0) db.evict();
        for (const follower of followers) {
          for (const [at, known] of follower.known) {
            const { query, arg } = roots[at]!;
            if (!known.reported)
              expect(known.outcome, "a result that is not reported is unchanged").toEqual(
                outcomeFromScratch(program, model, follower.client, query, arg),
              );
            else if (choose(2) === 0) follow(follower, at);
          }
        }
      }
      for (const follower of followers) {
        for (const [at, { outcome: before, reported }] of follower.known) {
          const { query, arg } = roots[at]!;
          const now = outcomeOf(() => follower.view.follow(queries[query]!, arg));
          expect(now).toEqual(outcomeFromScratch(program, model, follower.client, query, arg));
          if (!reported && now.error === undefined) expect(now.value).toBe(before.value);
        }
        follower.view.release();
      }
      db.evict();
      db.evict();
      expect(db.stats()).toMatchObject({ views: 0, memos: 0, edges: 0, facts: 0 });
    }),
    { numRuns: runs, ...(seed !== undefined && { seed }) },
  );
}

describe("a followed result that no commit has reported since it was called", { timeout: 600_000 }, () => {
  it("equals a computation from scratch while other views are created, called and released", () => laws(false, 2));
  it("equals a computation from scratch in programs with cycles", () => laws(true, 2));
  it("names every call of a cycle that was found while an answer was verified", () => laws(true, 2, -150301882));
});

const numbers = collection<number>("Number");
const group = fact("group", (client: { group: string }, _: void, q) => q.read(groups, client.group) ?? client.group);
const groups = collection<string>("Group");
const total = query("total", (q) => ({ total: q.read(numbers, q.ask(group)) ?? 0 }));
const other = query("other", (q, key: string) => q.read(numbers, key));

describe("a followed result", () => {
  it("is reported for the clients of a changed class, and no others", () => {
    const db = new Database<{ group: string }>();
    const views = Array.from({ length: 40 }, (_, i) => db.view({ group: `g${i % 4}` }));
    for (const view of views) view.follow(total);
    const { affected, changed } = db.commit((tx) => tx.set(numbers, "g1", 7));
    expect(changed.length).toBe(1);
    expect(new Set(affected.map(({ view }) => view))).toEqual(new Set(views.filter((_, i) => i % 4 === 1)));
    expect(affected.every((one) => one.query === (total as unknown) && one.arg === undefined)).toBe(true);
  });

  it("is reported if an answer on its path may have changed, and with it the client's class", () => {
    const db = new Database<{ group: string }>();
    const [one, two] = [db.view({ group: "a" }), db.view({ group: "b" })];
    one.follow(total);
    one.follow(other, "x");
    two.follow(total);
    const { affected } = db.commit((tx) => tx.set(groups, "a", "b"));
    expect(affected).toHaveLength(1);
    expect(affected[0]).toMatchObject({ view: one, query: total });
  });

  it("is not reported again until it is called again", () => {
    const db = new Database<{ group: string }>();
    const view = db.view({ group: "a" });
    view.follow(total);
    const write = (n: number): number => db.commit((tx) => tx.set(numbers, "a", n)).affected.length;
    expect([write(1), write(2)]).toEqual([1, 0]);
    expect(view.call(total)).toEqual({ total: 2 });
    expect(write(3)).toBe(1);
  });

  it("is not reported if the change does not reach it, and no client is asked", () => {
    const db = new Database<{ group: string }>();
    const every = query("every", (q) => q.keys(numbers).map((key) => q.call(other, key) ?? 0));
    const parity = query("parity", (q) => q.call(every).reduce((sum, n) => sum + n, 0) % 2);
    const shown = query("shown", (q) => `${q.ask(group)} ${q.call(parity)}`);
    const views = Array.from({ length: 30 }, (_, i) => db.view({ group: `g${i}` }));
    for (const view of views) view.follow(shown);
    const { answers, recomputations } = db.stats();
    const write = (n: number): number => db.commit((tx) => tx.set(numbers, "a", n)).affected.length;
    expect(write(2)).toBe(0);
    expect(db.stats()).toMatchObject({ answers, recomputations: recomputations + 3 });
    expect(views.map((view) => view.call(shown))).toEqual(views.map((_, i) => `g${i} 0`));
    expect(db.stats()).toMatchObject({ answers, recomputations: recomputations + 3 });
    expect(write(3)).toBe(30);
    expect(views.map((view) => view.call(shown))).toEqual(views.map((_, i) => `g${i} 1`));
    expect(write(5)).toBe(0);
  });

  it("is not reported if the answers on its path are revalidated, which does not ask for them again", () => {
    const db = new Database<{ group: string }>();
    const length = query("length", (q, key: string) => q.read(groups, key)?.length ?? 0);
    const long = fact("long", (client: { group: string }, _: void, q) => q.call(length, client.group) > 3);
    const size = query("size", (q) => (q.ask(long) ? "long" : "short"));
    const views = Array.from({ length: 10 }, () => db.view({ group: "a" }));
    for (const view of views) expect(view.follow(size)).toBe("short");
    const { answers } = db.stats();
    const write = (text: string): number => db.commit((tx) => tx.set(groups, "a", text)).affected.length;
    expect([write("x"), write("y")]).toEqual([10, 0]);
    for (const view of views) expect(view.follow(size)).toBe("short");
    expect(db.stats().answers).toBe(answers + 10);
    expect(write("z")).toBe(0);
    const { hits, verifications } = db.stats();
    for (const view of views) expect(view.follow(size)).toBe("short");
    expect(db.stats()).toMatchObject({ answers: answers + 10, hits: hits + 10, verifications });
    expect(write("long enough")).toBe(10);
    for (const view of views) expect(view.follow(size)).toBe("long");
  });

  it("is reported if verifying it would take too many runs", () => {
    const db = new Database<{ group: string }>();
    const twice = query("twice", (q, n: number) => (q.read(numbers, "all") ?? 0) * 2 + n);
    const none = query("none", (q, n: number) => q.call(twice, n) * 0);
    const sum = query(
      "sum",
      (q) => Array.from({ length: 5000 }, (_, n) => q.call(none, n)).length + q.ask(group).length * 0,
    );
    const view = db.view({ group: "a" });
    const first = view.follow(sum);
    const { recomputations } = db.stats();
    expect(db.commit((tx) => tx.set(numbers, "all", 1)).affected).toMatchObject([{ view, query: sum }]);
    expect(db.stats().recomputations - recomputations).toBeLessThan(2000);
    expect(view.follow(sum)).toBe(first);
  });

  it("is kept while it is followed, even if it is not called", () => {
    const db = new Database<{ group: string }>({ keepRevisions: 2 });
    const view = db.view({ group: "a" });
    const first = view.follow(total);
    for (let i = 0; i < 10; i++) expect(db.commit((tx) => tx.set(numbers, "unrelated", i)).affected).toEqual([]);
    const { recomputations } = db.stats();
    expect(view.call(total)).toBe(first);
    expect(db.stats().recomputations).toBe(recomputations);
    view.unfollow(total);
    view.unfollow(other, "never followed");
    for (let i = 10; i < 13; i++) expect(db.commit((tx) => tx.set(numbers, "unrelated", i)).affected).toEqual([]);
    expect(db.stats().memos).toBe(0);
  });

  it("is dropped with what only it uses, and computed again when it is called again", () => {
    const db = new Database<{ group: string }>();
    const inner: Query<string, number> = query("inner", (q, name: string): number => q.read(numbers, name) ?? 0);
    const outer: Query<string, number> = query("outer", (q, name: string): number => q.call(inner, name) + 1);
    const [one, two] = [db.view({ group: "a" }), db.view({ group: "b" })];
    for (let i = 0; i < 100; i++) {
      expect(one.follow(outer, `absent${i}`)).toBe(1);
      one.drop(outer, `absent${i}`);
    }
    expect(db.stats().memos).toBe(0);
    for (const view of [one, two]) expect(view.follow(outer, "shared")).toBe(1);
    one.drop(outer, "shared");
    one.drop(outer, "never called");
    expect(db.stats().memos).toBe(2);
    expect(db.commit((tx) => tx.set(numbers, "shared", 5)).affected).toMatchObject([{ view: two, query: outer }]);
    expect([one.call(outer, "shared"), two.call(outer, "shared")]).toEqual([6, 6]);
  });

  it("is reported once after all records were dropped, as by a stack overflow", () => {
    const db = new Database<{ group: string }>();
    const deep: Query<number, number> = query("deep", (q, n: number): number =>
      n === 0 ? 0 : q.call(deep, n - 1) + 1,
    );
    const [one, two, gone] = [db.view({ group: "a" }), db.view({ group: "b" }), db.view({ group: "c" })];
    for (const view of [one, two, gone]) view.follow(total);
    expect(() => one.call(deep, 1_000_000)).toThrow("call stack");
    gone.release();
    const write = (n: number): readonly View<unknown>[] =>
      db.commit((tx) => tx.set(numbers, "unrelated", n)).affected.map(({ view }) => view);
    expect(new Set(write(1))).toEqual(new Set([one, two]));
    expect(write(2)).toEqual([]);
  });
});
