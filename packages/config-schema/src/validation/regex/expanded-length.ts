/** An atom, a counted repetition, or a parenthesis or bar of a pattern. Classes and escapes are atoms. */
const token =
  /\\(?:[pPx]\{[^}]*\}|[^])|\[\^?\]?(?:\\[^]|\[:\^?\w+:\]|[^\]\\])*\]|\{(\d{1,4})(?:(,)(\d{0,4}))?\}|\((?:\?(?:P?<\w*>|[imsU-]*:?))?|[^]/gu;

/**
 * Returns the approximate number of atoms of a pattern after its counted repetitions are expanded, which bounds the
 * time to compile it. Does not check the syntax.
 */
export function expandedLength(pattern: string): number {
  const enclosing: number[] = [];
  let group = 0;
  let last = 0;
  for (const [text, least, , most] of pattern.matchAll(token)) {
    if (least !== undefined) {
      const repeated = last * Math.max(Number(least), Number(most ?? 0));
      group += repeated - last;
      last = repeated;
    } else if (text.startsWith("(")) {
      enclosing.push(group);
      group = 1;
    } else if (text === ")") {
      last = group;
      group += enclosing.pop() ?? 0;
    } else if (!"*+?|".includes(text)) {
      group += last = 1;
    }
  }
  return enclosing.reduce((sum, size) => sum + size, group);
}
