import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { collection, Database, fact, index, query } from "@istiod/incremental";

interface Client {
  readonly name: string;
}

const items = collection<{ readonly owner: string; readonly n: number }>("Item");
const byOwner = index(items, "byOwner", (item) => [item.owner]);
const name = fact("name", (client: Client) => client.name);
const named = fact("named", (client: Client, other: string) => client.name === other);
const present = fact("present", (client: Client, key: string, q) => q.read(items, client.name + key) !== undefined);

const detail = query("detail", (q, key: string) => ({
  n: q.read(items, key)?.n,
  of: q.read(byOwner, key).length,
  mine: q.ask(named, key),
}));
const root = query("root", (q) => ({
  from: q.ask(name),
  seen: q.ask(present, "x"),
  all: q.keys(items).map((key) => q.call(detail, key)),
}));

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

describe("retention", { timeout: 120_000 }, () => {
  it("drops a result that no view has called for keepRevisions", () => {
    const db = new Database<Client>({ keepRevisions: 3 });
    const view = db.view({ name: "a" });
    const commit = (n: number) => db.commit((tx) => tx.set(items, "other", { owner: "o", n }));
    const lone = query("lone", (q) => q.read(items, "lone")?.n);
    commit(0);
    view.call(lone);
    expect(db.stats().memos).toBe(1);
    commit(1);
    commit(2);
    expect(db.stats().memos).toBe(1);
    commit(3);
    expect([db.stats().memos, db.stats().edges]).toEqual([0, 0]);
    expect(db.stats()).toMatchObject({ drops: 1, replacements: 0 });
    view.call(lone);
    db.commit((tx) => tx.set(items, "lone", { owner: "o", n: 1 }));
    expect(view.call(lone)).toBe(1);
    expect(db.stats()).toMatchObject({ drops: 1, replacements: 1 });
    for (let n = 4; n < 20; n++) {
      commit(n);
      view.call(lone);
    }
    expect(db.stats().recomputations).toBe(3);
  });

  it("drops everything on evict, except results that views called since the last commit", () => {
    const db = new Database<Client>();
    const [one, other] = [db.view({ name: "a" }), db.view({ name: "b" })];
    one.call(detail, "x");
    other.call(detail, "y");
    expect(db.stats().memos).toBe(2);
    other.release();
    db.evict();
    expect(db.stats().memos).toBe(1);
    one.release();
    db.evict();
    expect(db.stats()).toMatchObject({ memos: 0, edges: 0, facts: 0, views: 0 });
  });

  it("drops what many results leave behind over several commits, and keeps what is used again meanwhile", () => {
    const db = new Database<Client>({ keepRevisions: 3 });
    const [left, stays] = [db.view({ name: "left" }), db.view({ name: "stays" })];
    const commit = (n: number) => db.commit((tx) => tx.set(items, "other", { owner: "o", n }));
    const part = query("part", (q, n: number) => q.read(items, `part-${n}`)?.n ?? n);
    const whole = query("whole", (q, count: number) =>
      Array.from({ length: count }, (_, n) => q.call(part, n)).reduce((sum, n) => sum + n, 0),
    );
    const count = 5_000;
    left.call(whole, count);
    const drops: number[] = [];
    for (let n = 0; db.stats().memos > 0; n++) {
      const before = db.stats().drops;
      commit(n);
      const dropped = db.stats().drops - before;
      if (dropped === 0) continue;
      drops.push(dropped);
      if (drops.length === 2) expect(stays.call(whole, count)).toBe((count * (count - 1)) / 2);
    }
    expect(drops.reduce((sum, dropped) => sum + dropped, 0)).toBeGreaterThanOrEqual(count + 1);
    expect(drops.every((dropped) => dropped < count / 2)).toBe(true);
    expect(db.stats()).toMatchObject({ memos: 0, edges: 0 });
  });

  it("does not grow when clients call with new arguments and leave, although nothing is committed", () => {
    const db = new Database<Client>({ keepUnused: 100 });
    db.commit((tx) => tx.set(items, "x", { owner: "o", n: 1 }));
    const stays = db.view({ name: "stays" });
    stays.call(detail, "x");
    for (let round = 0; round < 50; round++) {
      const view = db.view({ name: `v${round}` });
      for (let i = 0; i < 20; i++) view.call(detail, `${round}-${i}`);
      view.call(detail, "x");
      view.release();
      expect(db.stats().memos).toBeLessThanOrEqual(102);
    }
    const { recomputations } = db.stats();
    const back = db.view({ name: "v49" });
    expect([back.call(detail, "49-19"), stays.call(detail, "x")]).toEqual([
      { n: undefined, of: 0, mine: false },
      { n: 1, of: 0, mine: false },
    ]);
    expect(db.stats().recomputations).toBe(recomputations);
    expect(back.call(detail, "0-0")).toEqual({ n: undefined, of: 0, mine: false });
  });

  it("does not grow while inputs, clients, arguments and answers keep changing", () => {
    const db = new Database<Client>({ keepRevisions: 4 });
    const steady = db.view({ name: "steady" });
    let views = Array.from({ length: 8 }, (_, i) => db.view({ name: `v${i}` }));
    const peaks = [0, 1, 2, 3].map(() => ({ memos: 0, edges: 0, facts: 0, bytes: 0, heap: 0 }));
    for (let round = 0; round < 2400; round++) {
      db.commit((tx) => {
        tx.set(items, `key-${round}`, { owner: `owner-${round % 7}`, n: round });
        tx.delete(items, `key-${round - 10}`);
        tx.set(items, "steady", { owner: `key-${round}`, n: round });
      });
      steady.call(root);
      views[0]!.release();
      views = [...views.slice(1), db.view({ name: `client-${round}` })];
      for (const view of views) view.call(root);
      views[round % 8]!.call(detail, `absent-${round}`);
      const peak = peaks[Math.floor(round / 600)]!;
      const now = { ...db.stats(), heap: round % 600 === 599 ? heapBytes() : 0 };
      for (const what of Object.keys(peak) as (keyof typeof peak)[]) peak[what] = Math.max(peak[what], now[what]);
    }
    const [first, second, ...later] = peaks;
    for (const peak of [second!, ...later]) {
      expect(peak.memos).toBeLessThanOrEqual(first!.memos);
      expect(peak.edges).toBeLessThanOrEqual(first!.edges);
      expect(peak.facts).toBeLessThanOrEqual(first!.facts);
      expect(peak.bytes).toBeLessThanOrEqual(first!.bytes);
    }
    // Compiled code is on the heap too: the first quarter is for warm-up.
    for (const peak of later) expect(peak.heap).toBeLessThanOrEqual(second!.heap * 1.05);
    for (const view of [steady, ...views]) view.release();
    db.evict();
    expect(db.stats()).toMatchObject({ memos: 0, edges: 0, facts: 0, views: 0 });
  });

  it("does not include released views, which cannot be called", () => {
    const db = new Database<Client>();
    const view = db.view({ name: "a" });
    view.call(root);
    view.release();
    view.release();
    expect(() => view.call(root)).toThrow("released");
  });
});

describe("a change that nothing reads", () => {
  it("causes no runs, verifications or answers for any view", () => {
    const db = new Database<Client>();
    const views = Array.from({ length: 50 }, (_, i) => db.view({ name: `v${i % 5}` }));
    db.commit((tx) => {
      for (let i = 0; i < 50; i++) tx.set(items, `key-${i}`, { owner: "o", n: i });
    });
    const before = views.map((view) => view.call(root));
    const { recomputations, verifications, answers } = db.stats();
    const unread = collection<number>("Unread");
    for (let i = 0; i < 5; i++) {
      db.commit((tx) => tx.set(unread, "x", i));
      views.forEach((view, at) => expect(view.call(root)).toBe(before[at]));
    }
    expect(db.stats()).toMatchObject({ recomputations, verifications, answers });
  });
});
