import { shortQuote } from "./short-quotes.js";
import type { ProductBounds } from "../mesh/product-bounds.js";

/** A path in a document: field names and list indexes from its root. */
export type FieldPath = readonly (string | number)[];

/**
 * Kind of an issue that analysis reports under a code of its own: a route or a match that is unreachable behind earlier
 * ones; a kind that does not exist or is not supported; a field without effect; a rejected object that fails closed, or
 * of which a stored version is active; a condition that no request satisfies; a setting that changes nothing; a path
 * with a doubled or a lost slash; a CORS policy that browsers do not accept, or that allows every website; weights that
 * send no traffic to a destination; values that contradict each other; values that are sent as they are, although they
 * have another form.
 */
export type IssueCode =
  | "unreachable-rule"
  | "ineffective-match"
  | "unknown-kind"
  | "unsupported-kind"
  | "unsupported-field"
  | "fails-closed"
  | "stored-version"
  | "never-matches"
  | "no-effect"
  | "unexpected-path"
  | "cors"
  | "weight"
  | "contradiction"
  | "literal";

/** Receives the faults of one document. */
export interface Report {
  /** Reports a fault that rejects the object. `message` says what is wrong and what is expected. */
  error(path: FieldPath, message: string): void;
  /** Reports a fault that does not reject the object. */
  warning(path: FieldPath, message: string, code?: IssueCode): void;
  /** Bounds of products of lists. Default: those of the process's environment. */
  readonly bounds?: ProductBounds | undefined;
  /** Returns the unquoted word in the document's text at a path: `y` for true. Undefined if there is no text. */
  readonly wordAt?: ((path: FieldPath) => string | undefined) | undefined;
}

/** Formats a path as in `http[2].route[0].weight`. A leading `spec` is omitted. */
export function formatPath(path: FieldPath): string {
  let text = "";
  for (const [i, part] of path.entries()) {
    if (i === 0 && part === "spec" && path.length > 1) continue;
    if (typeof part === "number") text += `[${part}]`;
    else if (/^[A-Za-z_][A-Za-z0-9_]{0,79}$/.test(part)) text += text === "" ? part : `.${part}`;
    else text += `[${shortQuote(JSON.stringify(part))}]`;
  }
  return text;
}
