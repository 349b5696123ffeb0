/** Markup that needs no escaping. */
export class Html {
  constructor(readonly markup: string) {}

  toString(): string {
    return this.markup;
  }
}

/**
 * A value of a template. Markup is inserted unchanged, text and numbers are escaped, lists are concatenated, and
 * `undefined` and `false` are omitted.
 */
export type HtmlValue = Html | string | number | undefined | false | readonly HtmlValue[];

/** Template tag that escapes values. Attribute values must be quoted. */
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
 * Escapes text for element content and quoted attributes. Control and bidirectional characters, which can make a name
 * look like another, are replaced by their code points.
 */
export function escapeHtml(text: string): string {
  return text.replace(unseen, numbered).replace(/[&<>"'`]/g, (character) => entities[character] ?? "");
}

const unseen = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

function numbered(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Returns a link, or only its text if the URL is not HTTP or HTTPS. */
export function link(href: string | undefined, text: HtmlValue): Html {
  return href !== undefined && isHttp(href) ? html`<a href="${href}">${text}</a>` : html`${text}`;
}

function isHttp(href: string): boolean {
  return URL.canParse(href, "http://page/") && /^https?:$/.test(new URL(href, "http://page/").protocol);
}
