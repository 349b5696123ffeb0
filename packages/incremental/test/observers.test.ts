import { describe, expect, it, vi } from "vitest";
import { collection, Database, IncrementalError, index, query, type Commit } from "@istiod/incremental";

const numbers = collection<number>("Number");
const byParity = index(numbers, "byParity", (n) => [n % 2 === 0 ? "even" : "odd"]);
const total = query("total", (q) => q.all(numbers).reduce((sum, n) => sum + n, 0));
const odd = query("odd", (q) => q.read(byParity, "odd"));

function codeOf(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    return error instanceof IncrementalError ? error.code : String(error);
  }
  return undefined;
}

describe("an observer of commits", () => {
  it("is called before a commit with the previous state and after it with the new one", () => {
    const db = new Database<undefined>();
    const view = db.view(undefined);
    const seen: unknown[] = [];
    const look = (when: string): void => void seen.push([when, db.revision, db.read(numbers, "a"), view.call(total)]);
    db.observe({ before: () => look("before"), after: () => look("after") });
    db.commit((tx) => tx.set(numbers, "a", 1));
    db.commit((tx) => tx.set(numbers, "a", 2));
    expect(seen).toEqual([
      ["before", 0, undefined, 0],
      ["after", 1, 1, 1],
      ["before", 1, 1, 1],
      ["after", 2, 2, 2],
    ]);
  });

  it("receives the commit that the committer receives, with the results that it affects", () => {
    const db = new Database<undefined>();
    const view = db.view(undefined);
    view.follow(total);
    const observed: Commit[] = [];
    db.observe({ after: (commit) => observed.push(commit) });
    const commit = db.commit((tx) => tx.set(numbers, "a", 1));
    expect(observed).toEqual([commit]);
    expect(observed[0]).toBe(commit);
    expect(commit).toMatchObject({ revision: 1, changed: [{ key: "a" }], affected: [{ view, query: total }] });
  });

  it("is called in order of subscription", () => {
    const db = new Database();
    const calls: string[] = [];
    for (const name of ["a", "b", "c"])
      db.observe({ before: () => calls.push(`before ${name}`), after: () => calls.push(`after ${name}`) });
    db.commit((tx) => tx.set(numbers, "a", 1));
    expect(calls).toEqual(["before a", "before b", "before c", "after a", "after b", "after c"]);
  });

  it("is not called for a commit that changes nothing or fails", () => {
    const db = new Database();
    db.commit((tx) => tx.set(numbers, "a", 1));
    const calls: string[] = [];
    db.observe({ before: () => calls.push("before"), after: () => calls.push("after") });
    db.commit((tx) => tx.set(numbers, "a", 1));
    expect(codeOf(() => db.commit(() => JSON.parse("{")))).toContain("SyntaxError");
    expect(calls).toEqual([]);
  });

  it("may subscribe the same object twice, and unsubscribe each time", () => {
    const db = new Database();
    const after = vi.fn();
    const observer = { after };
    const unsubscribe = db.observe(observer);
    db.observe(observer);
    db.commit((tx) => tx.set(numbers, "a", 1));
    expect(after).toHaveBeenCalledTimes(2);
    unsubscribe();
    unsubscribe();
    db.commit((tx) => tx.set(numbers, "a", 2));
    expect(after).toHaveBeenCalledTimes(3);
  });

  it("is no longer called after it is unsubscribed, even during a commit", () => {
    const db = new Database();
    const calls: string[] = [];
    const unsubscribe = {
      own: db.observe({
        before: () => calls.push("before own"),
        after: () => {
          calls.push("after own");
          unsubscribe.own();
          unsubscribe.next();
        },
      }),
      next: db.observe({ before: () => calls.push("before next"), after: () => calls.push("after next") }),
    };
    db.commit((tx) => tx.set(numbers, "a", 1));
    db.commit((tx) => tx.set(numbers, "a", 2));
    expect(calls).toEqual(["before own", "before next", "after own"]);
  });

  it("is called from the next commit on when it subscribes during one", () => {
    const db = new Database();
    const revisions: number[] = [];
    const unsubscribe = db.observe({
      before: () => {
        unsubscribe();
        db.observe({ after: ({ revision }) => revisions.push(revision) });
      },
    });
    db.commit((tx) => tx.set(numbers, "a", 1));
    db.commit((tx) => tx.set(numbers, "a", 2));
    expect(revisions).toEqual([2]);
  });

  it("that throws breaks neither the commit nor other observers", () => {
    const errors: unknown[] = [];
    const db = new Database({ onObserverError: (error) => errors.push(error) });
    const revisions: number[] = [];
    const failure = (text: string) => (): never => {
      throw new Error(text);
    };
    db.observe({ before: failure("in before"), after: failure("in after") });
    db.observe({ after: ({ revision }) => revisions.push(revision) });
    expect(db.commit((tx) => tx.set(numbers, "a", 1)).revision).toBe(1);
    expect(db.commit((tx) => tx.set(numbers, "a", 2)).revision).toBe(2);
    expect(revisions).toEqual([1, 2]);
    expect(errors.map(String)).toEqual(
      ["in before", "in after", "in before", "in after"].map((text) => `Error: ${text}`),
    );
  });

  it("that throws is an uncaught exception if the database was given no onObserverError", async () => {
    const uncaught = vi.fn();
    const others = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException").once("uncaughtException", uncaught);
    try {
      const db = new Database();
      db.observe({
        after: () => {
          throw new Error("unhandled");
        },
      });
      expect(db.commit((tx) => tx.set(numbers, "a", 1)).revision).toBe(1);
      expect(uncaught).not.toHaveBeenCalled();
      await vi.waitFor(() => expect(uncaught).toHaveBeenCalledOnce());
      expect(String(uncaught.mock.calls[0]![0])).toBe("Error: unhandled");
    } finally {
      process.removeAllListeners("uncaughtException");
      for (const other of others) process.on("uncaughtException", other);
    }
  });

  it.each(["before", "after"] as const)("must not commit in `%s`, but may afterwards", async (when) => {
    const db = new Database();
    const codes: unknown[] = [];
    const later: Promise<Commit>[] = [];
    const commit = (): Commit => db.commit((tx) => tx.set(numbers, "b", 1));
    db.observe({
      [when]: () => {
        codes.push(
          codeOf(commit),
          codeOf(() => db.evict()),
        );
        if (later.length === 0) later.push(Promise.resolve().then(commit));
      },
    });
    expect(db.commit((tx) => tx.set(numbers, "a", 1)).revision).toBe(1);
    expect(codes).toEqual(["purity", "purity"]);
    expect(db.read(numbers, "b")).toBeUndefined();
    expect((await later[0]!).revision).toBe(2);
    expect(db.read(numbers, "b")).toBe(1);
  });

  it("may read an index for the first time before a commit that changes it", () => {
    const db = new Database<undefined>();
    const view = db.view(undefined);
    db.commit((tx) => [1, 2, 3].forEach((n) => tx.set(numbers, `${n}`, n)));
    const seen: unknown[] = [];
    const unsubscribe = db.observe({ before: () => seen.push(view.call(odd)) });
    db.commit((tx) => {
      tx.set(numbers, "1", 10);
      tx.set(numbers, "2", 7);
    });
    unsubscribe();
    expect(seen).toEqual([[1, 3]]);
    expect(view.call(odd)).toEqual([7, 3]);
    expect(db.read(byParity, "even")).toEqual([10]);
  });

  it("may compute results that a later commit changes", () => {
    const db = new Database<undefined>();
    const view = db.view(undefined);
    const totals: unknown[] = [];
    db.observe({ after: () => totals.push(db.dryRun((tx) => tx.set(numbers, "b", 10)).call(view, total)) });
    db.commit((tx) => tx.set(numbers, "a", 1));
    expect(totals).toEqual([11]);
    expect(view.call(total)).toBe(1);
  });
});
