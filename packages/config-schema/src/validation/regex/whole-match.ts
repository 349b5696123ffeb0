import { maxRegexLength } from "./regex.js";

/** A part of a pattern: a character that stands for itself, a set of characters, or an operator. */
interface Token {
  readonly kind: "literal" | "set" | "operator";
  readonly text: string;
}

const escapedSets = /^\\[dDsSwWpPbBAzCQE]/;
const token =
  /\\[^]|\[\^?\]?(?:\\[^]|\[:\^?[a-z]+:\]|[^\]\\])*\]|\{\d+(?:,\d*)?\}|\(\?[a-zA-Z]+\)|\(\?(?:P?<\w+>|[a-zA-Z]*:)|[^]/g;

function tokensOf(pattern: string): readonly Token[] {
  return (pattern.match(token) ?? []).map((text): Token => {
    if (text.startsWith("\\")) return { kind: escapedSets.test(text) ? "set" : "literal", text };
    if (text.startsWith("[") && text.length > 1) return { kind: "set", text };
    if (text === ".") return { kind: "set", text };
    return { kind: /^[()|*+?^$]$|^\{\d|^\(\?/.test(text) ? "operator" : "literal", text };
  });
}

function isQuantifier(found: Token | undefined): boolean {
  return found?.kind === "operator" && /^[*+?{]/.test(found.text);
}

/** Properties of a pattern that must match the whole text, as proxies match. */
export interface WholeMatch {
  /** The text that is the only one that the pattern matches; undefined if there are several. */
  readonly literal: string | undefined;
  /** The matched texts have a maximum length. */
  readonly isBounded: boolean;
  /** The first character of each matched text; undefined if it is not known. */
  readonly firstCharacter: string | undefined;
  /** The last character of each matched text; undefined if it is not known. */
  readonly lastCharacter: string | undefined;
  /** The pattern begins with `^` or ends with `$`, but not both, as one for a part of the text would. */
  readonly isAnchoredOnOneSide: boolean;
}

const unknown: WholeMatch = {
  literal: undefined,
  isBounded: false,
  firstCharacter: undefined,
  lastCharacter: undefined,
  isAnchoredOnOneSide: false,
};

/** Returns what all texts have in common that a pattern in RE2's syntax matches as a whole. Errs on "not known". */
export function wholeMatch(pattern: string): WholeMatch {
  if (pattern.length > maxRegexLength) return unknown;
  const all = tokensOf(pattern);
  const begins = all[0]?.text === "^";
  const ends = all.at(-1)?.text === "$";
  const tokens = all.slice(begins ? 1 : 0, ends ? -1 : undefined);
  const isPlain = tokens.every(({ kind }) => kind === "literal");
  const hasChoice = tokens.some(({ kind, text }) => kind === "operator" && (text === "|" || text.startsWith("(?")));
  const [first, second] = tokens;
  const last = tokens.at(-1);
  return {
    literal: isPlain && tokens.length > 0 ? tokens.map(unescaped).join("") : undefined,
    isBounded: !tokens.some(({ kind, text }) => kind === "operator" && /^[*+]$|^\{\d+,\}$/.test(text)),
    firstCharacter: hasChoice || first?.kind !== "literal" || isQuantifier(second) ? undefined : unescaped(first),
    lastCharacter: hasChoice || last?.kind !== "literal" ? undefined : unescaped(last),
    isAnchoredOnOneSide: begins !== ends && !hasChoice,
  };
}

/**
 * Returns the text with which every match of an anchored pattern begins, as `/api/` of `^/api/(.*)$`; undefined if the
 * pattern is not anchored, or its matches may begin differently.
 */
export function anchoredBeginning(pattern: string): string | undefined {
  if (pattern.length > maxRegexLength) return undefined;
  const [anchor, ...tokens] = tokensOf(pattern);
  if (anchor?.text !== "^" || tokens.some(({ text }) => text === "|" || /^\(\?[a-zA-Z]/.test(text))) return undefined;
  const end = tokens.findIndex(({ kind }, i) => kind !== "literal" || isQuantifier(tokens[i + 1]));
  return tokens
    .slice(0, end < 0 ? undefined : end)
    .map(unescaped)
    .join("");
}

function unescaped({ text }: Token): string {
  return text.startsWith("\\") ? text.slice(1) : text;
}
