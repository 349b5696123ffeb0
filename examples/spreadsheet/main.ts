import { collection, Database, query, type Query } from "@istiod/incremental";

// The text of each cell is an input. A formula depends on the cells that it reads, and on nothing else.
const cells = collection<string>("Cell");
const value: Query<string, number> = query("value", (q, cell: string): number => {
  const text = q.read(cells, cell) ?? "0";
  if (!text.startsWith("=")) return Number(text);
  return text
    .slice(1)
    .split("+")
    .reduce((sum, name) => sum + q.call(value, name), 0);
});

const database = new Database<undefined>();
const view = database.view(undefined);

/** Writes one cell, and prints the total and the number of cells that were computed for it. */
function write(cell: string, text: string): void {
  const before = database.stats().recomputations;
  database.commit((tx) => tx.set(cells, cell, text));
  const total = view.call(value, "Total");
  console.log(`${cell} ${text}: total ${total}, computed ${database.stats().recomputations - before}`);
}

write("Total", "=North+South");
for (let month = 1; month <= 12; month++) database.commit((tx) => tx.set(cells, `N${month}`, "10"));
write("North", "=N1+N2+N3+N4+N5+N6+N7+N8+N9+N10+N11+N12");
write("N3", "15"); // N3, North and Total; the other eleven months are not computed again
write("South", "7");
write("Unrelated", "=N1+N2"); // nothing that Total depends on
console.log(
  view
    .explain(value, "South")
    .inputs.map((input) => JSON.stringify(input))
    .join("\n"),
);
