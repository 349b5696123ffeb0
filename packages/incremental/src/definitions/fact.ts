import type { Fact, FactContext } from "./context.js";

let definitions = 0;

/**
 * Declares a fact. Prefer predicates (`matches(selector)`) to raw data (all labels): the fewer distinct answers, the
 * more clients share results. `arg` must be a `Key`; the answer must be plain data, and is compared structurally.
 */
export function fact<C, A = void, R = unknown>(
  name: string,
  compute: (client: C, arg: A, q: FactContext) => R,
): Fact<C, A, R> {
  return { kind: "fact", id: definitions++, name, compute };
}
