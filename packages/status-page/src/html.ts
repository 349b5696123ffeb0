/** Markup that needs no escaping. */
export class Html {
  constructor(readonly markup: string) {}

  toString(): string {
    return this.markup;
  }
}

/**
 * Values of a template: markup as it is, text and numbers escaped, lists in order; `undefined` and `false` are nothing.
 */
export type HtmlValue = Html | string | number | undefined | false | readonly HtmlValue[];

/** Tag of templates whose values are escaped. Attribute values must be quoted. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(strings.reduce((markup, text, at) => markup + markupOf(values[at - 1]) + text));
}

function markupOf(value: HtmlValue): string {
  if (value === undefined || value === false) return "";
  if (value instanceof Html) return value.markup;
  if (typeof value === "object") return value.map(markupOf).join("");
  return escapeHtml(String(value));
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "`": "&#96;",
};

/**
 * Text as it can stand between tags and in a quoted attribute. Control characters and those that change the direction
 * of text, with which a name can be made to look like another, are shown by their numbers.
 */
export function escapeHtml(text: string): string {
  return text.replace(unseen, numbered).replace(/[&<>"'`]/g, (character) => entities[character] ?? "");
}

const unseen = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

function numbered(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** A link, or its text alone where the address is of another scheme than HTTP. */
export function link(href: string | undefined, text: HtmlValue): Html {
  return href !== undefined && isHttp(href) ? html`<a href="${href}">${text}</a>` : html`${text}`;
}

function isHttp(href: string): boolean {
  return URL.canParse(href, "http://page/") && /^https?:$/.test(new URL(href, "http://page/").protocol);
}
