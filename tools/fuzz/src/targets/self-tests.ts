import type { Target } from "../target.js";

const trigger = 0xee;
const seeds = [Buffer.from("seed")];

/** Targets with faults, for tests of the worker. */
export const selfTests = {
  /** The byte that triggers them. */
  trigger,
  targets: [
    {
      name: "self-test-hang",
      description: "loops",
      seeds,
      run(input) {
        while (input.includes(trigger));
      },
    },
    {
      name: "self-test-heap",
      description: "exhausts the heap",
      seeds,
      run(input) {
        const kept: unknown[] = [];
        while (input.includes(trigger)) kept.push({ at: kept.length });
      },
    },
  ] satisfies readonly Target[],
};
