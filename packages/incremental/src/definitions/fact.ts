import type { FactContext } from "./context.js";

/** A named question about a client, with a small answer. Clients that answer alike share what was computed from the answers. */
export interface Fact<C, A, R> {
  readonly kind: "fact";
  readonly id: number;
  readonly name: string;
  compute(client: C, arg: A, q: FactContext): R;
}

let definitions = 0;

/**
 * Declares a fact. Ask for predicates (`matches(selector)`) rather than raw data (all labels): the fewer distinct answers, the more
 * clients share. `arg` must be a `Key`; the answer must be plain data, and is compared structurally.
 */
export function fact<C, A = void, R = unknown>(
  name: string,
  compute: (client: C, arg: A, q: FactContext) => R,
): Fact<C, A, R> {
  return { kind: "fact", id: definitions++, name, compute };
}
