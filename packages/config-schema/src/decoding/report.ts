/** A place inside a document: field names and list indexes from its root. */
export type FieldPath = readonly (string | number)[];

/**
 * The kind of an issue that analysis reports under a code of its own: a route, or a match, that earlier routes leave
 * nothing to; a kind that does not exist, or that is not supported.
 */
export type IssueCode = "unreachable-rule" | "ineffective-match" | "unknown-kind" | "unsupported-kind";

/** Takes what is found wrong in one document. */
export interface Report {
  /** The object is refused. `message` says what is wrong and what is expected. */
  error(path: FieldPath, message: string): void;
  /** The object is accepted, and the user told. */
  warning(path: FieldPath, message: string, code?: IssueCode): void;
  /** Returns the unquoted word that the document's text has at a path, where there is a text: `y` for true. */
  readonly wordAt?: ((path: FieldPath) => string | undefined) | undefined;
}

/**
 * `http[2].route[0].weight`: a path as a person reads it. A leading `spec` is left out, as everything of interest is
 * there.
 */
export function formatPath(path: FieldPath): string {
  let text = "";
  for (const [i, part] of path.entries()) {
    if (i === 0 && part === "spec" && path.length > 1) continue;
    if (typeof part === "number") text += `[${part}]`;
    else if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(part)) text += text === "" ? part : `.${part}`;
    else text += `[${JSON.stringify(part)}]`;
  }
  return text;
}
