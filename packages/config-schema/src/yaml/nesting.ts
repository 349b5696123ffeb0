/** Deepest nesting that is taken: everything that walks values does so recursively. */
export const maxDepth = 200;

/**
 * Deepest nesting that parsers are given, and widest indentation. They recurse too, and one that runs out of stack can
 * take the process with it. Counted without regard to quotes, so with room for texts that hold brackets.
 */
const maxLexicalDepth = 400;

const deepBlocks = new RegExp(
  `^[^\\S\\r\\n]{${2 * maxLexicalDepth}}|^[^\\S\\r\\n]*(?:[-?][^\\S\\r\\n]+){${maxLexicalDepth}}`,
  "m",
);

/** Whether a text may be nested deeper than a parser should be given. */
export function isNestedAbsurdly(text: string): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x5b || c === 0x7b) {
      if (++depth > maxLexicalDepth) return true;
    } else if ((c === 0x5d || c === 0x7d) && depth > 0) depth--;
  }
  return text.length > maxLexicalDepth && deepBlocks.test(text);
}

/** Whether a value is nested deeper than is taken. */
export function isTooDeep(value: unknown, depth = maxDepth): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((item) => isTooDeep(item, depth - 1));
}
