import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { collection, Database, fact, index, query, structurallyEqual, type Query } from "@istiod/incremental";
import {
  calls,
  clients,
  define,
  edits,
  emptyModel,
  items,
  note,
  programs,
  put,
  type Client,
  type Expression,
  type Program,
} from "./random-program.js";
import { Reference } from "./reference.js";

const prices = collection<{ readonly amount: number; readonly tags: readonly string[] }>("Price");
const pricesByTag = index(prices, "byTag", ({ tags }) => tags);
const club = fact("club", (client: { readonly club: string }) => client.club);
const total = query("total", (q, tag: string) => q.read(pricesByTag, tag).reduce((sum, { amount }) => sum + amount, 0));
const receipt = query("receipt", (q) => ({
  club: q.ask(club),
  total: q.call(total, "fruit"),
  pear: q.read(prices, "pear")?.amount ?? 0,
}));

describe("a dry run", () => {
  const db = new Database<{ readonly club: string }>();
  db.commit((tx) => {
    tx.set(prices, "apple", { amount: 2, tags: ["fruit"] });
    tx.set(prices, "nail", { amount: 1, tags: ["tool"] });
  });
  const view = db.view({ club: "red" });

  it("returns the result that a commit would lead to, and changes nothing", () => {
    const before = view.call(receipt);
    const supposition = db.dryRun((tx) => tx.set(prices, "pear", { amount: 5, tags: ["fruit"] }));
    expect(supposition.call(view, receipt)).toEqual({ club: "red", total: 7, pear: 5 });
    expect(view.call(receipt)).toBe(before);
    expect(db.read(prices, "pear")).toBeUndefined();
    expect(db.revision).toBe(1);
  });

  it("returns the view's own object if the result would be equal, and runs no query whose reads would be equal", () => {
    const before = view.call(receipt);
    expect(db.dryRun((tx) => tx.delete(prices, "nail")).call(view, receipt)).toBe(before);
    const { recomputations } = db.stats();
    expect(db.dryRun((tx) => tx.set(prices, "apple", { amount: 2, tags: ["fruit", "red"] })).call(view, receipt)).toBe(
      before,
    );
    expect(db.stats().recomputations).toBe(recomputations);
  });

  it("runs queries that read the keys of a collection or index only if the keys would differ", () => {
    let runs = 0;
    const names = query("names", (q) => ({ runs: ++runs, keys: q.keys(prices), tags: q.keys(pricesByTag) }));
    const before = view.call(names);
    const supposing = (write: Parameters<typeof db.dryRun>[0]): unknown => db.dryRun(write).call(view, names);
    expect(supposing((tx) => tx.set(prices, "apple", { amount: 9, tags: ["fruit", "tool"] }))).toBe(before);
    expect(supposing((tx) => tx.delete(prices, "pear"))).toBe(before);
    expect(runs).toBe(1);
    expect(supposing((tx) => tx.set(prices, "apple", { amount: 2, tags: [] }))).toMatchObject({
      keys: ["apple", "nail"],
      tags: ["tool"],
    });
    expect(supposing((tx) => tx.set(prices, "nail", { amount: 2, tags: ["red", "tool"] }))).toMatchObject({
      tags: ["fruit", "red", "tool"],
    });
    expect(supposing((tx) => tx.delete(prices, "nail"))).toMatchObject({ keys: ["apple"], tags: ["fruit"] });
    expect(runs).toBe(4);
  });

  it("is valid until the next commit", () => {
    const supposition = db.dryRun((tx) => tx.delete(prices, "apple"));
    db.commit((tx) => tx.set(prices, "nail", { amount: 3, tags: [] }));
    expect(() => supposition.call(view, receipt)).toThrow("something was committed since");
  });
});

function outcome(call: () => unknown): unknown {
  try {
    return { value: call() };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

test("is prepared in steps, during which the view may compute results that depend on the writes", () => {
  const db = new Database<{ readonly club: string }>();
  db.commit((tx) => {
    for (let i = 0; i < 20; i++) tx.set(prices, `p${i}`, { amount: 1, tags: [`t${i}`, "fruit"] });
  });
  const view = db.view({ club: "red" });
  const sums = Array.from({ length: 20 }, (_, i) => query(`sum ${i}`, (q) => q.call(total, "fruit") + i));
  for (const sum of sums.slice(0, 10)) view.call(sum);
  const dryRun = db.dryRun((tx) => tx.set(prices, "p0", { amount: 6, tags: ["fruit"] }));
  let steps = 0;
  for (const _ of dryRun.prepare()) {
    const next = sums[10 + steps++];
    if (next !== undefined) view.call(next);
    if (steps === 5) break;
  }
  // A later search goes on where the former stopped.
  for (const _ of dryRun.prepare()) steps++;
  expect(steps).toBeGreaterThan(10);
  expect([...dryRun.prepare()]).toEqual([]);
  expect(sums.map((sum) => dryRun.call(view, sum))).toEqual(sums.map((_, i) => 25 + i));
});

test("detects that a speculatively verified answer would differ", () => {
  const keys: Expression = { is: "keys" };
  const nothing: Expression = { is: "constant", n: 0 };
  const bucket: Expression = { is: "bucket", tag: "x" };
  const program: Program = {
    queries: [
      nothing,
      { is: "ask", fact: 4, arg: keys },
      nothing,
      nothing,
      {
        is: "if",
        test: {
          is: "if",
          test: { is: "pair", left: bucket, right: { is: "arg" } },
          then: keys,
          otherwise: { is: "throw", of: bucket },
        },
        then: { is: "ask", fact: 0, arg: nothing },
        otherwise: keys,
      },
    ],
    facts: [
      keys,
      nothing,
      {
        is: "pair",
        left: { is: "call", query: 4, arg: { is: "arg" } },
        right: { is: "ask", fact: 0, arg: { is: "arg" } },
      },
    ],
  };
  const { queries } = define(
    program,
    () => {},
    () => {},
  );
  const db = new Database<Client>();
  const model = emptyModel();
  const client = { zone: 0, level: 0 };
  const view = db.view(client);
  for (const key of ["a", "c"]) {
    const write: Parameters<typeof db.dryRun>[0] = (tx) => tx.set(items, key, { n: 0, tags: [] });
    const supposed = db.dryRun(write).call(view, queries[1] as Query<number, unknown>, 0);
    model.items.set(key, { n: 0, tags: [] });
    expect(supposed).toEqual(new Reference(program, model, client).call(1, 0).value);
    db.commit(write);
  }
});

test("returns what a commit of the same writes leads to, for every client", { timeout: 120_000 }, () => {
  const roots = Array.from({ length: calls }, (_, at) => [0, 1].map((arg) => ({ at, arg }))).flat();
  fc.assert(
    fc.property(
      programs(false),
      clients,
      edits,
      fc.integer({ min: 1, max: 10 }),
      fc.boolean(),
      (program, people, commits, count, asked) => {
        const { queries } = define(
          program,
          () => {},
          () => {},
        );
        const db = new Database<Client>();
        const model = emptyModel();
        const views = people.map((client) => ({ client, view: db.view(client) }));
        const asking = roots
          .slice(0, count)
          .map(({ at, arg }) => ({ at, arg, query: queries[at] as Query<number, unknown> }));
        for (const edit of commits) {
          const current = new Map<string, unknown>();
          if (asked)
            views.forEach(({ view }, v) =>
              asking.forEach(({ query, arg }, i) =>
                current.set(
                  `${v} ${i}`,
                  outcome(() => view.call(query, arg)),
                ),
              ),
            );
          const supposition = db.dryRun((tx) => put(tx, edit));
          const supposed = views.map(({ view }) =>
            asking.map(({ query, arg }) => outcome(() => supposition.call(view, query, arg))),
          );
          note(model, edit);
          views.forEach(({ client }, v) => {
            const reference = new Reference(program, model, client);
            asking.forEach(({ at, arg }, i) => {
              const { value, error } = reference.call(at, arg);
              const now = supposed[v]![i] as { readonly value: unknown };
              expect(now).toEqual(error === undefined ? { value } : { error });
              const before = current.get(`${v} ${i}`) as typeof now | undefined;
              if (before !== undefined && error === undefined && structurallyEqual(before.value, now.value))
                expect(now.value).toBe(before.value);
            });
          });
          db.commit((tx) => put(tx, edit));
        }
        for (const { view } of views) view.release();
        db.evict();
        db.evict();
        expect(db.stats()).toMatchObject({ views: 0, memos: 0, edges: 0, facts: 0 });
      },
    ),
    { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 150) },
  );
});
