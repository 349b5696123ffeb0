import { CycleError } from "../errors.js";
import type { Client } from "../records/client.js";
import type { Computation } from "../records/computation.js";

/** The cycle that an active computation is on. The computation fails with its error, even if it catches it. */
export interface Poison {
  readonly error: CycleError;
  /**
   * The position of the outermost computation on the cycle. Only that one is memoized: the others saw it unfinished.
   */
  readonly head: number;
  /**
   * True if the cycle includes a speculative answer or the verification of an answer, so it may not exist in this form,
   * and nothing on it is memoized.
   */
  readonly speculative: boolean;
}

/** A query or fact that is being run (a `Frame`) or verified, or, without an owner, a speculative answer. */
export class ActiveComputation {
  poison: Poison | null = null;

  /**
   * @param direct false if reads of calls below are verified without these calls, as for answers: then a cycle lacks
   *   the calls, or does not exist
   */
  constructor(
    readonly owner: Computation | null,
    readonly direct = true,
  ) {}
}

/** The computations in progress, and the client that they are for. */
export class ActiveStack {
  /** Null if nothing is being computed. */
  client: Client | null = null;
  /** The innermost computation that runs a function; null if none does. */
  running: ActiveComputation | null = null;
  /** True if an error that is not a query's result, such as a stack overflow, left records incomplete. */
  broken = false;
  readonly #stack: (ActiveComputation | undefined)[] = [];
  #depth = 0;

  get depth(): number {
    return this.#depth;
  }

  at(position: number): ActiveComputation | undefined {
    return this.#stack[position];
  }

  /** Returns the position of the computation, to be given to `pop`. */
  push(computation: ActiveComputation): number {
    const position = this.#depth++;
    this.#stack[position] = computation;
    if (computation.owner !== null) computation.owner.activeAt = position;
    return position;
  }

  pop(position: number): void {
    const owner = this.#stack[position]?.owner;
    if (owner) owner.activeAt = -1;
    this.#depth = position;
    this.#stack[position] = undefined;
  }

  /** Fails every computation on the cycle from the one at a position to the innermost one. */
  failCycle(from: number): never {
    const labels: string[] = [];
    let speculative = -1;
    for (let at = from; at < this.#depth; at++) {
      const computation = this.#stack[at];
      const owner = computation?.owner;
      if (owner) labels.push(owner.label);
      if (!owner) speculative = at + 1;
      else if (!computation.direct) speculative = at;
    }
    let first = 0;
    for (let i = 1; i < labels.length; i++) if ((labels[i] as string) < (labels[first] as string)) first = i;
    const error = new CycleError([...labels.slice(first), ...labels.slice(0, first)]);
    const poison: Poison = { error, head: from, speculative: speculative >= 0 };
    for (let at = speculative >= 0 ? speculative : from; at < this.#depth; at++) {
      const computation = this.#stack[at];
      if (computation) computation.poison ??= poison;
    }
    throw error;
  }

  clear(): void {
    this.#stack.length = this.#depth = 0;
    this.client = this.running = null;
    this.broken = false;
  }
}
