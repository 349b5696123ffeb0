/** The markup of one section of a page. */
export function sectionOf(page: string, id: string): string {
  return new RegExp(`<section id="${id}"[^]*?</section>`).exec(page)?.[0] ?? "";
}

/** Returns the visible text of markup, with one space between two words. */
export function textOf(markup: string): string {
  const entities: Readonly<Record<string, string>> = {
    "&lt;": "<",
    "&gt;": ">",
    "&quot;": '"',
    "&#39;": "'",
    "&#96;": "`",
    "&amp;": "&",
  };
  return markup
    .replace(/<(style|script)[^]*?<\/\1>/g, " ")
    .replace(/<\/?(span|strong|a|time|small)\b[^>]*>/g, "")
    .replace(/<[^>]*>/g, " ")
    .replace(/&[a-z#0-9]+;/g, (entity) => entities[entity] ?? entity)
    .replace(/\s+/g, " ")
    .trim();
}

/** The cells of a table's rows, by row. */
export function rowsOf(section: string): readonly (readonly string[])[] {
  const body = /<tbody[^]*<\/tbody>/.exec(section)?.[0] ?? "";
  return [...body.matchAll(/<tr[^]*?<\/tr>/g)].map(([row]) =>
    [...row.matchAll(/<(td|th)\b[^]*?<\/\1>/g)].map(([cell]) => textOf(cell)),
  );
}
