import { collection, Database, index, type IndexFailure, query, type View } from "@istiod/incremental";
import { beforeEach, describe, expect, it } from "vitest";

interface Host {
  readonly name: string;
  readonly zone: string | null;
}

const hosts = collection<Host>("Host");
const byZone = index(hosts, "byZone", ({ zone }) => [(zone as string).toLowerCase()]);
const byInitial = index(hosts, "byInitial", ({ name }) => [name.charAt(0)]);
const inZone = query("inZone", (q, zone: string) => q.read(byZone, zone).map(({ name }) => name));
const withInitial = query("withInitial", (q, initial: string) => q.read(byInitial, initial).map(({ name }) => name));
const zones = query("zones", (q) => q.keys(byZone));
const all = query("all", (q) => q.keys(hosts));

const good = (name: string): Host => ({ name, zone: "A" });
const bad = (name: string): Host => ({ name, zone: null });

describe("an entry for which an index's function throws", () => {
  let failures: IndexFailure[];
  let db: Database;
  let view: View<unknown>;

  beforeEach(() => {
    failures = [];
    db = new Database({ onIndexFailure: (failure) => failures.push(failure) });
    view = db.view(undefined);
    db.commit((tx) => tx.set(hosts, "web", good("web")));
  });

  const state = () => ({
    all: view.call(all),
    zones: view.call(zones),
    inZone: view.call(inZone, "a"),
    withInitial: view.call(withInitial, "w"),
  });
  const failed = () => db.indexFailures().map(({ index: of, key, error }) => `${of.name} ${key}: ${String(error)}`);

  it("is in no bucket of that index, is reported, and the rest of its commit applies", () => {
    expect(state()).toEqual({ all: ["web"], zones: ["a"], inZone: ["web"], withInitial: ["web"] });
    const { changed } = db.commit((tx) => {
      tx.set(hosts, "api", good("api"));
      tx.set(hosts, "wiki", bad("wiki"));
      tx.set(hosts, "zoo", { name: "zoo", zone: "B" });
    });
    expect(changed.map(({ key }) => key)).toEqual(["api", "wiki", "zoo"]);
    expect(state()).toEqual({
      all: ["api", "web", "wiki", "zoo"],
      zones: ["a", "b"],
      inZone: ["api", "web"],
      withInitial: ["web", "wiki"],
    });
    expect(failures).toMatchObject([{ index: byZone, key: "wiki" }]);
    expect(failed()).toEqual([expect.stringMatching(/^byZone wiki: TypeError: .*toLowerCase/)]);
  });

  it("leaves its buckets when it becomes bad, and returns when it is mended", () => {
    view.follow(zones);
    view.follow(inZone, "a");
    const { affected } = db.commit((tx) => tx.set(hosts, "web", bad("web")));
    expect(affected.map(({ query: { name } }) => name).sort()).toEqual(["inZone", "zones"]);
    const spoilt = db.commit((tx) => tx.set(hosts, "web", { ...bad("web"), name: "wob" }));
    expect(spoilt.changed).toMatchObject([{ key: "web", present: true }]);
    expect(state()).toEqual({ all: ["web"], zones: [], inZone: [], withInitial: ["wob"] });
    expect(failed()).toHaveLength(1);
    db.commit((tx) => tx.set(hosts, "web", good("web")));
    expect(state()).toEqual({ all: ["web"], zones: ["a"], inZone: ["web"], withInitial: ["web"] });
    expect(failed()).toEqual([]);
  });

  it("can be deleted", () => {
    view.call(zones);
    db.commit((tx) => tx.set(hosts, "wiki", bad("wiki")));
    expect(failed()).toHaveLength(1);
    db.commit((tx) => tx.delete(hosts, "wiki"));
    expect(failed()).toEqual([]);
    expect(state()).toEqual({ all: ["web"], zones: ["a"], inZone: ["web"], withInitial: ["web"] });
  });

  it("does not fail a query that reads the index for the first time", () => {
    db.commit((tx) => tx.set(hosts, "wiki", bad("wiki")));
    expect(failed()).toEqual([]);
    expect(view.call(inZone, "a")).toEqual(["web"]);
    expect(failed()).toHaveLength(1);
    expect(failures).toHaveLength(1);
  });

  it("does not fail a commit whose observer reads the index for the first time", () => {
    db.observe({ before: () => void db.read(byZone, "a") });
    db.commit((tx) => {
      tx.set(hosts, "wiki", bad("wiki"));
      tx.set(hosts, "api", good("api"));
    });
    expect(view.call(inZone, "a")).toEqual(["api", "web"]);
  });

  it("does not fail a dry run", () => {
    expect(view.call(inZone, "a")).toEqual(["web"]);
    const dryRun = db.dryRun((tx) => {
      tx.set(hosts, "web", bad("web"));
      tx.set(hosts, "api", good("api"));
    });
    expect([dryRun.call(view, inZone, "a"), dryRun.call(view, zones)]).toEqual([["api"], ["a"]]);
  });

  it("may return what is no list of names", () => {
    const odd = index(hosts, "odd", ({ zone }) => (zone === null ? (7 as never) : [zone]));
    db.read(odd, "A");
    db.commit((tx) => {
      tx.set(hosts, "wiki", bad("wiki"));
      tx.set(hosts, "api", good("api"));
    });
    expect(db.read(odd, "A")).toMatchObject([{ name: "api" }, { name: "web" }]);
    expect(failed()).toEqual([expect.stringMatching(/^odd wiki: TypeError/)]);
  });

  it("may overflow the stack at a commit", () => {
    const deep = (n: number): number => (n === 0 ? 0 : 1 + deep(n - 1));
    const deepIndex = index(hosts, "deep", ({ zone }) => [String(deep(zone === null ? 1e6 : 1))]);
    db.read(deepIndex, "1");
    db.commit((tx) => {
      tx.set(hosts, "wiki", bad("wiki"));
      tx.set(hosts, "api", good("api"));
    });
    expect(db.read(deepIndex, "1")).toMatchObject([{ name: "api" }, { name: "web" }]);
  });
});

it("an entry that cannot be compared is taken as changed, and the rest of its commit applies", () => {
  const odd = collection<{ readonly n: number }>("Odd", {
    equals: (a, b) => {
      if (b.n < 0) throw new Error("no comparison");
      return a.n === b.n;
    },
  });
  const db = new Database();
  db.commit((tx) => {
    tx.set(odd, "a", { n: 1 });
    tx.set(odd, "b", { n: 1 });
  });
  const { changed } = db.commit((tx) => {
    tx.set(odd, "a", { n: -1 });
    tx.set(odd, "b", { n: 2 });
  });
  expect(changed.map(({ key }) => key)).toEqual(["a", "b"]);
  expect(db.all(odd)).toEqual([{ n: -1 }, { n: 2 }]);
});
