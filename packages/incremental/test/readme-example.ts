import { equal, deepEqual } from "node:assert/strict";
import { collection, CycleError, Database, fact, query, type Query } from "@istiod/incremental";

interface Reader {
  readonly department: string;
}

// A spreadsheet: the text of each cell is an input.
const cells = collection<string>("Cell");

// Differences between readers are facts, and are not passed around: readers with equal answers share results.
const seesSalaries = fact("seesSalaries", (reader: Reader) => reader.department === "people");

// A formula is a sum of numbers and names of cells. It depends on its reads only.
const value: Query<string, number> = query("value", (q, cell: string): number => {
  const text = q.read(cells, cell) ?? "0";
  if (!text.startsWith("=")) return Number(text);
  return text
    .slice(1)
    .split("+")
    .reduce((sum, term) => sum + (/^[A-Z]/.test(term) ? q.call(value, term) : Number(term)), 0);
});

const sheet = query("sheet", (q) =>
  q.keys(cells).map((cell) => {
    if (cell.startsWith("S") && !q.ask(seesSalaries)) return `${cell}: hidden`;
    try {
      return `${cell}: ${q.call(value, cell)}`;
    } catch (error) {
      return `${cell}: ${error instanceof CycleError ? "circular" : "error"}`;
    }
  }),
);

const db = new Database<Reader>();
db.commit((tx) => {
  tx.set(cells, "A1", "2");
  tx.set(cells, "A2", "=A1+3");
  tx.set(cells, "S1", "1000");
});

const ann = db.view({ department: "people" });
const ben = db.view({ department: "sales" });
const cid = db.view({ department: "law" });
deepEqual(ann.call(sheet), ["A1: 2", "A2: 5", "S1: 1000"]);
deepEqual(ben.call(sheet), ["A1: 2", "A2: 5", "S1: hidden"]);
equal(cid.call(sheet), ben.call(sheet)); // one object: both readers are of one class

// A changed salary affects only the readers that see it.
const before = ben.call(sheet);
db.commit((tx) => tx.set(cells, "S1", "1100"));
equal(ben.call(sheet), before);
deepEqual(ann.call(sheet), ["A1: 2", "A2: 5", "S1: 1100"]);

// Early cutoff: A2 is computed again, but 1 + 4 is still 5, so nothing else is.
const { recomputations } = db.stats();
db.commit((tx) => tx.set(cells, "A2", "=1+4"));
equal(ben.call(sheet), before);
equal(db.stats().recomputations - recomputations, 1);

db.commit((tx) => tx.set(cells, "A1", "=A2+A1"));
deepEqual(ben.call(sheet), ["A1: circular", "A2: 5", "S1: hidden"]);

// Why does A2 show what it shows?
deepEqual(ben.explain(value, "A2").inputs, [
  { kind: "entry", collection: "Cell", key: "A2", present: true, changedAt: 3 },
]);
