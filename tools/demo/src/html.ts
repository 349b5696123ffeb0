/** Markup that needs no escaping. Only `html` creates it. */
export class Html {
  constructor(readonly text: string) {}
}

type Value = string | number | Html | readonly Html[];

/** A template whose interpolated values are escaped unless they are markup themselves. */
export function html(pieces: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(pieces.map((piece, n) => `${piece}${n < values.length ? render(values[n] ?? "") : ""}`).join(""));
}

function render(value: Value): string {
  if (value instanceof Html) return value.text;
  if (typeof value === "string" || typeof value === "number") return escape(String(value));
  return value.map(render).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
