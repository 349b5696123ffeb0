/** Longest name that is compared letter by letter: the cost grows with the product of two lengths. */
const longestCompared = 256;

/**
 * Returns the candidates that `name` is likely a misspelling of, best first and at most `limit` of them, for "did you
 * mean".
 *
 * A candidate is plausible if its Damerau-Levenshtein distance (optimal string alignment) is at most a third of the
 * name's length, or 1 for a name of less than six letters. One that differs only in case, or in how its words are
 * separated (`maxConnections`, `max_connections`, `max-connections`), counts as half an edit. `name` itself is never
 * suggested, and candidates of equal distance are in alphabetical order.
 */
export const nearestNames = (name: string, candidates: Iterable<string>, limit = 3): string[] => {
  const bound = Math.max(1, Math.floor(name.length / 3));
  const found: { readonly candidate: string; readonly distance: number }[] = [];
  for (const candidate of new Set(candidates)) {
    if (candidate === name) continue;
    const distance = spellingDistance(name, candidate, bound);
    if (distance <= bound && distance < Math.max(name.length, candidate.length)) found.push({ candidate, distance });
  }
  found.sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1));
  return found.slice(0, limit).map(({ candidate }) => candidate);
};

/** Returns the distance of two different names, or infinity if it exceeds `bound`. */
const spellingDistance = (a: string, b: string, bound: number): number => {
  if (wordsOf(a) !== "" && wordsOf(a) === wordsOf(b)) return 0.5;
  if (Math.abs(a.length - b.length) > bound || Math.max(a.length, b.length) > longestCompared) return Infinity;
  return Math.min(editDistance(a, b), editDistance(a.toLowerCase(), b.toLowerCase()) + 0.5);
};

/** Returns the letters of a name's words, in lower case and without separators. */
const wordsOf = (name: string): string => name.replace(/[-_.:/\s]/g, "").toLowerCase();

/** Counts the insertions, deletions, substitutions and swaps of neighbors that turn one string into the other. */
const editDistance = (a: string, b: string): number => {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const at = (costs: number[], index: number): number => costs[index] ?? Infinity;
      const substitution = at(last, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current.push(
        Math.min(
          at(last, column) + 1,
          at(current, column - 1) + 1,
          substitution,
          swapped ? at(beforeLast, column - 2) + 1 : Infinity,
        ),
      );
    }
    [beforeLast, last] = [last, current];
  }
  return last[b.length] ?? Infinity;
};
