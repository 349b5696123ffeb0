/** Maximum nesting of values, since they are processed recursively. */
export const maxDepth = 200;

/**
 * Maximum nesting and indentation of a text before it is parsed: parsers recurse as well, and a stack overflow can end
 * the process. Quotes are not considered, so the limit leaves room for strings with brackets.
 */
const maxLexicalDepth = 400;

const deepBlocks = new RegExp(
  `^[^\\S\\r\\n]{${2 * maxLexicalDepth}}|^[^\\S\\r\\n]*(?:[-?][^\\S\\r\\n]+){${maxLexicalDepth}}`,
  "m",
);

/** Reports whether a text may be nested too deeply for a parser. */
export function isNestedTooDeeply(text: string): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x5b || c === 0x7b) {
      if (++depth > maxLexicalDepth) return true;
    } else if ((c === 0x5d || c === 0x7d) && depth > 0) depth--;
  }
  return text.length > maxLexicalDepth && deepBlocks.test(text);
}

/** Reports whether a value exceeds the maximum nesting. */
export function isTooDeep(value: unknown, depth = maxDepth): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((item) => isTooDeep(item, depth - 1));
}
