/** A table's lines: the header, then the rows, each with as many cells. */
export type Table = readonly (readonly string[])[];

/**
 * Writes a table for people: columns are as wide as their widest cell and some spaces.
 *
 * @param padding spaces between columns; istioctl has 1 or 5, depending on the table
 */
export function formatTable(rows: Table, padding = 5): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => length(row[column] ?? ""))));
  return rows
    .map(
      (row) =>
        `${row.map((cell, column) => (column === row.length - 1 ? cell : cell + " ".repeat((widths[column] ?? 0) - length(cell) + padding))).join("")}\n`,
    )
    .join("");
}

/** Characters of a text, not UTF-16 units. */
function length(text: string): number {
  return [...text].length;
}
