import { isPrintable } from "../values/strings.js";

const html: Readonly<Record<string, string>> = {
  "\0": "\ufffd",
  '"': "&#34;",
  "'": "&#39;",
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
};

/** Go's `template.HTMLEscapeString`. */
export const escapeHtml = (text: string): string => text.replace(/[\0"'&<>]/g, (character) => html[character] ?? "");

const javascript: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "'": "\\'",
  '"': '\\"',
  "<": "\\u003C",
  ">": "\\u003E",
  "&": "\\u0026",
  "=": "\\u003D",
};

/** Go's `template.JSEscapeString`. */
export const escapeJavascript = (text: string): string =>
  text.replace(/[\0-\x1f\\'"<>&=]|[^\0-\x7f]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code > 0x7f && isPrintable(character)) return character;
    return javascript[character] ?? `\\u${code.toString(16).toUpperCase().padStart(4, "0")}`;
  });

/** Go's `url.QueryEscape`. */
export const escapeQuery = (text: string): string => escapeBytes(text, /[A-Za-z0-9\-_.~]/).replaceAll("%20", "+");

/** Escapes the bytes of characters that are not allowed. */
export const escapeBytes = (text: string, allowed: RegExp): string =>
  Array.from(text, (character) =>
    allowed.test(character)
      ? character
      : Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  ).join("");
