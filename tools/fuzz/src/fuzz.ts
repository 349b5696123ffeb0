import { RandomInputs } from "./random-input.js";
import type { Fault, Target } from "./target.js";

export interface FuzzOptions {
  readonly cases: number;
  readonly seed: number;
  /** Inputs that failed before; each is run first, and random inputs are derived from them too. */
  readonly corpus?: readonly Uint8Array[];
  /** Called before each input. */
  readonly before?: (input: Uint8Array) => void;
}

/** Runs a target with its seeds, its corpus and random inputs. Returns the first fault. */
export async function fuzz(
  target: Target,
  { cases, seed, corpus = [], before }: FuzzOptions,
): Promise<Fault | undefined> {
  const inputs = new RandomInputs(target, seed, corpus);
  const known = [...target.seeds, ...corpus];
  for (let number = 0; number < known.length + cases; number++) {
    const input = known[number] ?? inputs.next();
    before?.(input);
    try {
      const running = target.run(input);
      if (running !== undefined) await running;
    } catch (error) {
      return { target: target.name, input, error };
    }
  }
  return undefined;
}
