import { counted } from "./count.js";
import { html, type Html, type HtmlValue, link } from "./html.js";

export interface Column<T> {
  readonly label: string;
  readonly cell: (row: T) => HtmlValue;
  /** Numbers are aligned at their end. */
  readonly isNumber?: boolean;
}

export interface TableOptions<T> {
  readonly caption: string;
  /** The first one names the row. */
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly isTrouble?: (row: T) => boolean;
}

/** Rows that a section shows; the rest is counted, with a link to all. */
export interface Bound {
  readonly most: number;
  readonly href: string;
  /** What the rows are, such as `proxy` and `proxies`. */
  readonly one: string;
  readonly many?: string;
}

/** Address of this page as JSON, which has every list whole. */
export const asJson = "?format=json";

/**
 * A table that becomes a list of cards on narrow screens. Roles are stated because styles that do so would otherwise
 * take the table's meaning away from assistive technology.
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

/** The first of a list, and a line about the rest. */
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

/** The first of a list of names, and how many more there are. */
export function someOf(names: readonly string[], total: number, most: number): Html {
  const shown = names.slice(0, most);
  const rest = total - shown.length;
  return html`${shown.map((name, at) => html`${at > 0 && ", "}<span class="name">${name}</span>`)}${rest > 0 && html` <span class="note">and ${counted(rest, "more", "more")}</span>`}`;
}

/** Text that stays on one line where there is room, unless it is long. */
export function short(text: string): Html {
  return text.length <= 24 ? html`<span class="short">${text}</span>` : html`<span class="name">${text}</span>`;
}

/** Text that strangers wrote, in full unless it is very long. */
export function quoted(text: string): Html {
  const most = 2000;
  return text.length <= most
    ? html`${text}`
    : html`${text.slice(0, most)}… <a href="${asJson}">${counted(text.length - most, "character")} more</a>`;
}

export type Level = "ok" | "warning" | "error" | "idle";

/** A word with a mark of its own shape, so that it does not depend on colors. */
export function mark(level: Level, text: HtmlValue): Html {
  return html`<span class="mark ${level}">${text}</span>`;
}

export function section(id: string, title: string, note: HtmlValue, content: Html): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}${note !== undefined && note !== false && html` <small>${note}</small>`}</h2>
${content}</section>
`;
}
