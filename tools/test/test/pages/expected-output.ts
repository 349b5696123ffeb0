/**
 * Compares output with what a page shows. `…` or `...` in a line stands for anything in that line, and alone in a line
 * for any number of lines. White space at the end of lines, and empty lines at the end, do not count.
 *
 * @returns The first line that a page shows and the output lacks, or that the output has in addition; undefined where
 *   they agree.
 */
export function outputDifference(shown: readonly string[], output: string): string | undefined {
  const expected = trimmed(shown);
  const actual = trimmed(output.split("\n"));
  const pattern = expected.map((line) => (isEllipsis(line) ? undefined : linePattern(line)));
  let furthest = { line: 0, at: 0 };
  const failed = new Set<number>();
  const matches = (line: number, at: number): boolean => {
    if (at > furthest.at || (at === furthest.at && line > furthest.line)) furthest = { line, at };
    if (line === pattern.length) return at === actual.length;
    const key = line * (actual.length + 1) + at;
    if (failed.has(key)) return false;
    const wanted = pattern[line];
    const found =
      wanted === undefined
        ? matches(line + 1, at) || (at < actual.length && matches(line, at + 1))
        : at < actual.length && wanted.test(actual[at] ?? "") && matches(line + 1, at + 1);
    if (!found) failed.add(key);
    return found;
  };
  if (matches(0, 0)) return undefined;
  return `shown: ${expected[furthest.line] ?? "(nothing more)"}\nprinted: ${actual[furthest.at] ?? "(nothing more)"}`;
}

function trimmed(lines: readonly string[]): readonly string[] {
  const ends = lines.map((line) => line.trimEnd());
  const last = ends.findLastIndex((line) => line !== "");
  return ends.slice(0, last + 1);
}

function isEllipsis(line: string): boolean {
  return /^\s*(?:…|\.\.\.)$/.test(line);
}

function linePattern(line: string): RegExp {
  const parts = line.split(/…|\.\.\./).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`);
}
