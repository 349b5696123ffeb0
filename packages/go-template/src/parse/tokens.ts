/** Kinds of tokens. */
export type TokenKind =
  | "error"
  | "bool"
  | "char"
  | "character constant"
  | "comment"
  | "complex"
  | "="
  | ":="
  | "EOF"
  | "field"
  | "identifier"
  | "left delimiter"
  | "("
  | "number"
  | "|"
  | "raw string"
  | "right delimiter"
  | ")"
  | "space"
  | "string"
  | "text"
  | "variable"
  | "dot"
  | "nil"
  | Keyword;

/** Words that begin an action. */
export type Keyword = "block" | "break" | "continue" | "define" | "else" | "end" | "if" | "range" | "template" | "with";

/** A token. */
export interface Token {
  readonly kind: TokenKind;
  /** Offset in the source, in UTF-16 code units. */
  readonly position: number;
  readonly text: string;
  /** Line of the first character, from 1. */
  readonly line: number;
}

export const keywords: ReadonlyMap<string, Keyword | "nil" | "dot"> = new Map([
  [".", "dot"],
  ["nil", "nil"],
  ...(["block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"] as const).map(
    (word) => [word, word] as const,
  ),
]);
