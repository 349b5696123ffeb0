import { describe, expect, it } from "vitest";
import {
  collection,
  CycleError,
  Database,
  fact,
  IncrementalError,
  query,
  type Fact,
  type Query,
  type QueryContext,
} from "@istiod/incremental";

const numbers = collection<number>("Number");
const target = collection<string>("Target");

function code(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    return error instanceof IncrementalError ? error.code : String(error);
  }
  return undefined;
}

describe("a cycle", () => {
  const follow: Query<string, string> = query("follow", (q, name: string): string => {
    const next = q.read(target, name);
    return next === undefined ? name : q.call(follow, next);
  });
  const follows = query("follows", (q, names: readonly string[]) =>
    names.map((name) => {
      try {
        return q.call(follow, name);
      } catch (error) {
        return error instanceof CycleError ? error.cycle : error;
      }
    }),
  );

  it("is an error that names its calls, independent of where it was entered", () => {
    const db = new Database();
    db.commit((tx) => ["b", "c", "a"].forEach((next, i) => tx.set(target, "abc".charAt(i), next)));
    const view = db.view(undefined);
    expect(() => view.call(follow, "b")).toThrow('cycle: follow("a") → follow("b") → follow("c") → follow("a")');
    const cycle = ['follow("a")', 'follow("b")', 'follow("c")'];
    expect(view.call(follows, ["c", "a", "b"])).toEqual([cycle, cycle, cycle]);
    expect(code(() => view.call(follow, "a"))).toBe("cycle");
  });

  it("can be caught by calls that lead to it, and ends with a change of an input", () => {
    const db = new Database();
    db.commit((tx) =>
      [
        ["x", "a"],
        ["a", "b"],
        ["b", "a"],
        ["y", "z"],
      ].forEach(([from, to]) => tx.set(target, from!, to!)),
    );
    const view = db.view(undefined);
    const cycle = ['follow("a")', 'follow("b")'];
    const all = ["x", "y", "b"];
    expect(view.call(follows, all)).toEqual([cycle, "z", cycle]);
    const { recomputations } = db.stats();
    db.commit((tx) => tx.set(target, "unread", "q"));
    view.call(follows, all);
    expect(db.stats().recomputations).toBe(recomputations);
    db.commit((tx) => tx.set(target, "b", "end"));
    expect(view.call(follows, all)).toEqual(["end", "z", "end"]);
    db.commit((tx) => tx.set(target, "end", "x"));
    expect(view.call(follows, ["y", "a"])).toEqual([
      "z",
      ['follow("a")', 'follow("b")', 'follow("end")', 'follow("x")'],
    ]);
  });

  it("cannot be caught by calls on it", () => {
    const db = new Database();
    const left: Query<void, number> = query("left", (q): number => {
      try {
        return q.call(right) + 1;
      } catch {
        return 0;
      }
    });
    const right: Query<void, number> = query("right", (q): number => q.call(left) + 1);
    for (const first of [left, right]) {
      const view = db.view(undefined);
      expect(() => view.call(first)).toThrow("cycle: left() → right() → left()");
      expect(() => view.call(left)).toThrow(CycleError);
      expect(() => view.call(right)).toThrow(CycleError);
    }
  });

  it("may lead through a fact", () => {
    const db = new Database();
    const chosen: Fact<unknown, void, number> = fact(
      "chosen",
      (_client: unknown, _arg: void, q: QueryContext): number => q.call(choice),
    );
    const choice: Query<void, number> = query("choice", (q): number =>
      q.read(numbers, "loop") === 1 ? q.ask(chosen) : 5,
    );
    const view = db.view(undefined);
    const root = query("root", (q) => q.ask(chosen));
    expect(view.call(root)).toBe(5);
    db.commit((tx) => tx.set(numbers, "loop", 1));
    expect(() => view.call(root)).toThrow("cycle: choice() → chosen() → choice()");
    expect(() => view.call(choice)).toThrow("cycle: choice() → chosen() → choice()");
    db.commit((tx) => tx.set(numbers, "loop", 0));
    expect([view.call(root), view.call(choice)]).toEqual([5, 5]);
  });
});

describe("a query may not", () => {
  const db = new Database();

  it("write, or use the database or a view instead of its context", () => {
    const view = db.view(undefined);
    const other = query("other", () => 1);
    const impure = [
      () => db.commit((tx) => tx.set(numbers, "a", 1)),
      () => db.read(numbers, "a"),
      () => db.keys(numbers),
      () => db.evict(),
      () => view.call(other),
      () => view.release(),
    ];
    impure.forEach((action, i) => expect(code(() => view.call(query(`impure ${i}`, action)))).toBe("purity"));
    const sly = query("sly", (q) => [q.read(numbers, "a")], {
      equals: () => db.commit((tx) => tx.set(numbers, "b", 9)).revision > 0,
    });
    view.call(sly);
    db.commit((tx) => tx.set(numbers, "a", 1));
    expect(view.call(sly)).toEqual([1]);
    expect(db.revision).toBe(1);
  });

  it("use its context after it returned, or from inside another query", async () => {
    const leaked: QueryContext[] = [];
    const leak = query("leak", (q) => {
      leaked.push(q);
      return 1;
    });
    const view = db.view(undefined);
    view.call(leak);
    expect(code(() => leaked[0]!.read(numbers, "a"))).toBe("purity");
    expect(code(() => leaked[0]!.call(leak))).toBe("purity");
    const inner = query("inner", () => leaked[1]!.keys(numbers));
    const outer = query("outer", (q) => {
      leaked[1] = q;
      return q.call(inner);
    });
    expect(code(() => view.call(outer))).toBe("purity");
  });

  it("be asynchronous", () => {
    expect(code(() => db.view(undefined).call(query("later", async () => Promise.reject(new Error("x")))))).toBe(
      "purity",
    );
  });

  it("take an argument that is not a key", () => {
    const of = query("of", (_q, arg: unknown) => typeof arg);
    const view = db.view(undefined);
    for (const arg of [() => 1, Symbol("x"), new Map(), [new Date()]])
      expect(code(() => view.call(of, arg))).toBe("key");
    const calls = query("calls", (q) => q.call(of, new Set()));
    expect(code(() => view.call(calls))).toBe("key");
  });
});

describe("a transaction", () => {
  it("changes nothing if it throws, and cannot be written to after the commit", () => {
    const db = new Database();
    expect(() =>
      db.commit((tx) => {
        tx.set(numbers, "a", 1);
        throw new Error("no");
      }),
    ).toThrow("no");
    expect(db.read(numbers, "a")).toBe(undefined);
    let kept: Parameters<Parameters<typeof db.commit>[0]>[0] | undefined;
    db.commit((tx) => (kept = tx));
    expect(code(() => kept!.set(numbers, "a", 1))).toBe("purity");
    expect(code(() => db.commit(() => db.commit(() => undefined)))).toBe("purity");
  });

  it("creates one revision with the changed entries, and reads the previous state", () => {
    const db = new Database();
    expect(db.commit((tx) => [1, 2].forEach((n) => tx.set(numbers, `${n}`, n)))).toEqual({
      revision: 1,
      changed: ["1", "2"].map((key) => ({ collection: numbers, key, present: true })),
      affected: [],
    });
    expect(db.commit((tx) => tx.set(numbers, "1", 1))).toEqual({ revision: 1, changed: [], affected: [] });
    db.commit((tx) => {
      tx.delete(numbers, "1");
      tx.set(numbers, "1", (db.read(numbers, "1") ?? 0) + 1);
      tx.delete(numbers, "absent");
    });
    expect([db.read(numbers, "1"), db.revision]).toEqual([2, 2]);
  });
});

describe("a stack overflow", () => {
  it("is not memoized: all memos are dropped and recomputed", () => {
    const db = new Database();
    db.commit((tx) => tx.set(numbers, "depth", 1_000_000));
    const deep: Query<number, number> = query("deep", (q, n: number): number =>
      n >= (q.read(numbers, "depth") ?? 0) ? 0 : q.call(deep, n + 1) + 1,
    );
    const careful = query("careful", (q) => {
      try {
        return q.call(deep, 0);
      } catch {
        return -1;
      }
    });
    const view = db.view(undefined);
    expect(() => view.call(deep, 0)).toThrow("call stack");
    expect(() => view.call(careful)).toThrow();
    expect(db.stats().memos).toBe(0);
    db.commit((tx) => tx.set(numbers, "depth", 100));
    expect([view.call(careful), view.call(deep, 50)]).toEqual([100, 50]);
  });

  it("of one query's own function is its result, which is computed again in the next revision", () => {
    const db = new Database();
    db.commit((tx) => ["a", "b"].forEach((key) => tx.set(numbers, key, key === "a" ? 1_000_000 : 5)));
    const descend = (n: number): number => (n === 0 ? 0 : descend(n - 1) + 1);
    let runs = 0;
    const own = query("own", (q, key: string): number => (runs++, descend(q.read(numbers, key) ?? 0)));
    const all = query("all", (q): readonly (number | string)[] =>
      ["a", "b"].map((key) => {
        try {
          return q.call(own, key);
        } catch (error) {
          return (error as Error).message;
        }
      }),
    );
    const view = db.view(undefined);
    expect(view.call(all)).toEqual(["Maximum call stack size exceeded", 5]);
    expect([view.call(all).length, runs]).toEqual([2, 2]);
    db.commit((tx) => tx.set(numbers, "c", 1));
    expect([view.call(all).length, runs]).toEqual([2, 3]);
    db.commit((tx) => tx.set(numbers, "a", 7));
    expect(view.call(all)).toEqual([7, 5]);
  });
});
