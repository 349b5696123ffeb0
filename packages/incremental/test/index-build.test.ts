import { collection, Database, index, type IndexFailure, query } from "@istiod/incremental";
import { describe, expect, it } from "vitest";

interface Host {
  readonly zones: readonly string[] | null;
}

const hosts = collection<Host>("BuiltHost");
const byZone = index(hosts, "byBuiltZone", ({ zones }) => (zones as readonly string[]).map((zone) => zone));
const namesIn = query("hostsInBuiltZone", (q, zone: string) => q.members(byZone, zone));

const commits: Readonly<Record<string, (db: Database) => void>> = {
  "a change of an entry": (db) => void db.commit((tx) => tx.set(hosts, "b", { zones: ["z", "y"] })),
  "a deletion": (db) => void db.commit((tx) => tx.delete(hosts, "a")),
  "an addition": (db) => void db.commit((tx) => tx.set(hosts, "aa", { zones: ["x"] })),
  "a deletion and an addition of the same key": (db) => {
    db.commit((tx) => tx.delete(hosts, "a"));
    db.commit((tx) => tx.set(hosts, "a", { zones: ["w", "x"] }));
  },
  "an entry that becomes bad": (db) => void db.commit((tx) => tx.set(hosts, "b", { zones: null })),
  "an entry that is mended": (db) => void db.commit((tx) => tx.set(hosts, "d", { zones: ["x"] })),
  "a read of the index": (db) => void db.read(byZone, "x"),
};

function database(failures: IndexFailure[] = []): Database {
  const db = new Database({ onIndexFailure: (failure) => failures.push(failure) });
  db.commit((tx) => {
    tx.set(hosts, "a", { zones: ["x"] });
    tx.set(hosts, "b", { zones: ["x", "y"] });
    tx.set(hosts, "c", { zones: ["x"] });
    tx.set(hosts, "d", { zones: null });
  });
  return db;
}

function state(db: Database) {
  const view = db.view(undefined);
  const zones = db.keys(byZone);
  return {
    zones,
    hosts: zones.map((zone) => view.call(namesIn, zone)),
    values: zones.map((zone) => db.read(byZone, zone)),
    failed: db.indexFailures().map(({ key }) => key),
  };
}

describe("an index that is built in steps", () => {
  it("takes a step for each entry, and is that of a first read", () => {
    const db = database();
    expect([...db.buildIndex(byZone)]).toHaveLength(3);
    expect(state(db)).toEqual(state(database()));
    expect(state(db).zones).toEqual(["x", "y"]);
    expect([...db.buildIndex(byZone)]).toEqual([]);
  });

  describe.each(Object.entries(commits))("with %s in between", (_, change) => {
    it.each([0, 1, 2, 3])("after %i steps it is that of a first read", (steps) => {
      const [db, other] = [database(), database()];
      const build = db.buildIndex(byZone);
      for (let step = 0; step < steps; step++) build.next();
      change(db);
      for (const _ of build);
      change(other);
      expect(state(db)).toEqual(state(other));
      for (const each of [db, other]) each.commit((tx) => tx.set(hosts, "c", { zones: ["v", "y"] }));
      for (const each of [db, other]) each.commit((tx) => tx.delete(hosts, "b"));
      expect(state(db)).toEqual(state(other));
    });
  });

  it("names a bad entry once", () => {
    const failures: IndexFailure[] = [];
    const db = database(failures);
    for (const _ of db.buildIndex(byZone));
    db.read(byZone, "x");
    expect(failures.map(({ key }) => key)).toEqual(["d"]);
  });
});
