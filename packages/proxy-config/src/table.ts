/** The lines of a table: a header and rows with the same number of cells. */
export type Table = readonly (readonly string[])[];

/**
 * Formats a table. Columns are as wide as their widest cell plus padding.
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

/** Returns the number of code points of a text. */
function length(text: string): number {
  return [...text].length;
}
