import { counted } from "./count.js";
import { html, type Html, type HtmlValue, link } from "./html.js";

/** Not in a template, where bundlers cannot escape it: V8 would keep the source with two bytes a character. */
const ellipsis = "…";

export interface Column<T> {
  readonly label: string;
  readonly cell: (row: T) => HtmlValue;
  /** True if the column has numbers, which are right-aligned. */
  readonly isNumber?: boolean;
}

export interface TableOptions<T> {
  readonly caption: string;
  /** Cells; the first one is the row header. */
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly isTrouble?: (row: T) => boolean;
}

/** Maximum number of rows in a section. The others are counted, with a link to the complete list. */
export interface Bound {
  readonly most: number;
  readonly href: string;
  /** Singular and plural noun for the rows, such as `proxy` and `proxies`. */
  readonly one: string;
  readonly many?: string;
}

/** URL of this page as JSON, which has the complete lists. */
export const asJson = "?format=json";

/**
 * Renders a table that becomes a list of cards on narrow screens. ARIA roles keep the table accessible with these
 * styles.
 */
export function table<T>({ caption, columns, rows, isTrouble = () => false }: TableOptions<T>): Html {
  const number = ({ isNumber }: Column<T>): HtmlValue => isNumber === true && html` class="number"`;
  const head = columns.map((column) => html`<th role="columnheader" scope="col"${number(column)}>${column.label}</th>`);
  const body = rows.map(
    (row) =>
      html`<tr role="row"${isTrouble(row) && html` class="trouble"`}>${columns.map((column, at) => cell(column, row, at === 0, number(column)))}</tr>\n`,
  );
  return html`<table role="table">
<caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${head}</tr></thead>
<tbody role="rowgroup">
${body}</tbody>
</table>
`;
}

function cell<T>({ label, cell: content }: Column<T>, row: T, isName: boolean, attributes: HtmlValue): Html {
  return isName
    ? html`<th role="rowheader" scope="row"${attributes}>${content(row)}</th>`
    : html`<td role="cell" data-label="${label}"${attributes}>${content(row)}</td>`;
}

/** Renders the first items of a list, and a line about the others. */
export function bounded<T>(
  list: readonly T[],
  { most, href, one, many = `${one}s` }: Bound,
  show: (shown: readonly T[]) => Html,
): Html {
  const rest = list.length - most;
  return rest <= 0
    ? show(list)
    : html`${show(list.slice(0, most))}<p class="more">and ${link(href, `${counted(rest, `more ${one}`, `more ${many}`)}`)}</p>\n`;
}

/** Renders the first names of a list, and the number of others. */
export function someOf(names: readonly string[], total: number, most: number): Html {
  const shown = names.slice(0, most);
  const rest = total - shown.length;
  return html`${shown.map((name, at) => html`${at > 0 && ", "}<span class="name">${name}</span>`)}${rest > 0 && html` <span class="note">and ${counted(rest, "more", "more")}</span>`}`;
}

/** Renders text without line breaks, unless it is long. */
export function short(text: string): Html {
  return text.length <= 24 ? html`<span class="short">${text}</span>` : html`<span class="name">${text}</span>`;
}

/** Renders untrusted text, truncated if it is very long. */
export function quoted(text: string): Html {
  const most = 2000;
  return text.length <= most
    ? html`${text}`
    : html`${text.slice(0, most)}${ellipsis} <a href="${asJson}">${counted(text.length - most, "character")} more</a>`;
}

export type Level = "ok" | "warning" | "error" | "idle";

/** Renders a state with a distinct symbol, so that it does not depend on color. */
export function mark(level: Level, text: HtmlValue): Html {
  return html`<span class="mark ${level}">${text}</span>`;
}

export function section(id: string, title: string, note: HtmlValue, content: Html): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}${note !== undefined && note !== false && html` <small>${note}</small>`}</h2>
${content}</section>
`;
}
