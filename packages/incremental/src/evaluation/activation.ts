import { CycleError } from "../errors.js";
import type { Call } from "../records/call.js";
import type { Question } from "../records/question.js";
import type { Engine } from "./engine.js";

/** A cycle that something under way is on: it fails with this error whatever it does. */
export interface Poison {
  readonly error: CycleError;
  /** The place of the outermost activation on the cycle. Only that one is memoized: the others saw it unfinished. */
  readonly head: number;
  /** The cycle leads through a guess (see `guess`), so it may not exist and nothing on it is memoized. */
  readonly guessed: boolean;
}

/**
 * Something under way: a query or fact being run (a `Frame`) or verified, or, without an owner, a guess. What a frame has poisoned
 * reads nothing more.
 */
export class Activation {
  poison: Poison | null = null;

  constructor(readonly owner: Call | Question | null) {}
}

/** Returns the place of the activation, to be given to `leave`. */
export function enter(engine: Engine, activation: Activation): number {
  const at = engine.depth++;
  engine.stack[at] = activation;
  if (activation.owner !== null) activation.owner.activeAt = at;
  return at;
}

export function leave(engine: Engine, at: number): void {
  const owner = engine.stack[at]?.owner;
  if (owner) owner.activeAt = -1;
  engine.depth = at;
  engine.stack[at] = undefined;
}

/** Fails everything on the cycle that is closed by what is active at `from`. */
export function failCycle(engine: Engine, from: number): never {
  const labels: string[] = [];
  let guess = -1;
  for (let at = from; at < engine.depth; at++) {
    const owner = engine.stack[at]?.owner;
    if (owner) labels.push(owner.label);
    else guess = at;
  }
  let first = 0;
  for (let i = 1; i < labels.length; i++) if ((labels[i] as string) < (labels[first] as string)) first = i;
  const error = new CycleError([...labels.slice(first), ...labels.slice(0, first)]);
  const poison: Poison = { error, head: from, guessed: guess >= 0 };
  for (let at = guess >= 0 ? guess + 1 : from; at < engine.depth; at++) {
    const activation = engine.stack[at];
    if (activation) activation.poison ??= poison;
  }
  throw error;
}
