/** Strings, block comments, and line comments: a comment on lines of its own, or one at the end of a line. */
const tokens =
  /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\/\*[\s\S]*?\*\/|(?<=^[^\S\n]*)\/\/.*(?:\n[^\S\n]*\/\/.*)*|\/\/.*/gm;

/**
 * ESLint parser for `.proto` files. Finds comments only; the program is empty. Consecutive lines of a line comment are
 * one comment.
 *
 * @type {import("eslint").Linter.Parser}
 */
export default {
  meta: { name: "proto-comments", version: "1.0.0" },
  parseForESLint(text) {
    const locate = locator(text);
    const location = (range) => ({ range, loc: { start: locate(range[0]), end: locate(range[1]) } });
    const comments = [...text.matchAll(tokens)].flatMap(({ 0: match, index }) => {
      if (!match.startsWith("/")) return [];
      const isBlock = match.startsWith("/*");
      const value = match.slice(2, isBlock ? -2 : undefined);
      return [{ type: isBlock ? "Block" : "Line", value, ...location([index, index + match.length]) }];
    });
    return {
      ast: { type: "Program", body: [], sourceType: "module", tokens: [], comments, ...location([0, text.length]) },
    };
  },
};

/** Returns a function from an offset to its line, from 1, and its column, from 0. */
function locator(text) {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  return (offset) => {
    const line = starts.findLastIndex((start) => start <= offset);
    return { line: line + 1, column: offset - starts[line] };
  };
}
