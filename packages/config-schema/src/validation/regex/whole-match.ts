import { maxRegexLength } from "./regex.js";

/** A part of a pattern: a character that stands for itself, a set of characters or another text, or an operator. */
interface Token {
  readonly kind: "literal" | "set" | "operator";
  readonly text: string;
}

/** An escape of a sign, which stands for the sign. Those of letters and digits have meanings of their own. */
const escapedSign = /^\\[^a-zA-Z0-9]/;
const token =
  /\\Q[^]*?(?:\\E|$)|\\x\{[0-9a-fA-F]+\}|\\x[0-9a-fA-F]{2}|\\[pP]\{\^?\w+\}|\\[pP][^]|\\[0-7]{1,3}|\\[^]|\[\^?\]?(?:\\[^]|\[:\^?[a-z]+:\]|[^\]\\])*\]|\{\d+(?:,\d*)?\}|\(\?[a-zA-Z]+\)|\(\?(?:P?<\w+>|[a-zA-Z]*:)|[^]/g;

function tokensOf(pattern: string): readonly Token[] {
  return (pattern.match(token) ?? []).map((text): Token => {
    if (text.startsWith("\\")) return { kind: escapedSign.test(text) ? "literal" : "set", text };
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
  /** Characters that each matched text has. */
  readonly requiredCharacters: ReadonlySet<string>;
  /** The pattern begins with `^` or ends with `$`, but not both, as one for a part of the text would. */
  readonly isAnchoredOnOneSide: boolean;
}

const unknown: WholeMatch = {
  literal: undefined,
  isBounded: false,
  firstCharacter: undefined,
  lastCharacter: undefined,
  requiredCharacters: new Set(),
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
    requiredCharacters: requiredCharacters(tokens),
    isAnchoredOnOneSide: begins !== ends && !hasChoice,
  };
}

/** Returns the literals outside of choices, and of what a quantifier allows to be absent. */
function requiredCharacters(tokens: readonly Token[]): ReadonlySet<string> {
  const groups: { required: string[]; hasChoice: boolean }[] = [{ required: [], hasChoice: false }];
  for (const [i, found] of tokens.entries()) {
    const isOptional = isQuantifier(tokens[i + 1]) && /^(?:[*?]|\{0)/.test(tokens[i + 1]?.text ?? "");
    const group = groups.at(-1);
    if (group === undefined) break;
    if (found.kind === "literal") {
      if (!isOptional) group.required.push(unescaped(found));
    } else if (found.text === "|") group.hasChoice = true;
    else if (/^\((?!\?[a-zA-Z]+\)$)/.test(found.text)) groups.push({ required: [], hasChoice: false });
    else if (found.text === ")") {
      groups.pop();
      if (!isOptional && !group.hasChoice) groups.at(-1)?.required.push(...group.required);
    }
  }
  const [all] = groups;
  return new Set(all === undefined || all.hasChoice ? [] : all.required);
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
