import { expect, test } from "vitest";
import { collection, Database, index, query } from "@istiod/incremental";

const rooms = collection<{ readonly locked: boolean }>("Room");
const secrecy = collection<boolean>("Secrecy");
const isOpen = query("isOpen", (q, room: string) => q.read(rooms, room)?.locked === false);
const documents = collection<{ readonly about: string }>("Document", {
  filter: (q) => (q.read(secrecy, "on") === true ? (key) => q.call(isOpen, key.slice(0, key.indexOf("/"))) : undefined),
});
const byTopic = index(documents, "byTopic", ({ about }) => [about]);

let runs = 0;
const found = query("found", (q) => {
  runs++;
  return {
    entry: q.read(documents, "attic/will")?.about,
    bucket: q.read(byTopic, "money").length,
    keys: q.keys(documents),
    topics: q.keys(byTopic),
    all: q.all(documents).length,
  };
});
const bill = query("bill", (q) => q.read(documents, "hall/bill"));

const everything = { entry: "house", bucket: 1, keys: ["attic/will", "hall/bill"], topics: ["house", "money"], all: 2 };
const openOnly = { entry: undefined, bucket: 1, keys: ["hall/bill"], topics: ["money"], all: 1 };

test("hides the entries that a collection's filter excludes from every read, and records what the filter reads", () => {
  const db = new Database<undefined>();
  db.commit((tx) => {
    tx.set(documents, "attic/will", { about: "house" });
    tx.set(documents, "hall/bill", { about: "money" });
    tx.set(rooms, "hall", { locked: false });
  });
  const view = db.view(undefined);
  expect(view.call(found)).toEqual(everything);
  const mine = view.call(bill);

  db.commit((tx) => tx.set(secrecy, "on", true));
  expect(view.call(found)).toEqual(openOnly);
  expect(view.call(bill)).toBe(mine);
  expect(db.read(documents, "attic/will")).toEqual({ about: "house" });

  expect(db.dryRun((tx) => tx.set(rooms, "attic", { locked: false })).call(view, found)).toEqual(everything);
  expect(db.dryRun((tx) => tx.delete(rooms, "hall")).call(view, bill)).toBeUndefined();

  db.commit((tx) => tx.set(rooms, "attic", { locked: false }));
  expect(view.call(found)).toEqual(everything);
  db.commit((tx) => tx.set(rooms, "attic", { locked: true }));
  expect(view.call(found)).toEqual(openOnly);

  runs = 0;
  db.commit((tx) => tx.set(rooms, "cellar", { locked: true }));
  expect(view.call(found)).toEqual(openOnly);
  expect(runs).toBe(0);
});
