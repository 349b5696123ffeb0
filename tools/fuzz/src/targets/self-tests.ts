import { setTimeout as wait } from "node:timers/promises";
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
      name: "self-test-wait",
      description: "waits for ten minutes",
      seeds,
      async run(input) {
        if (input.includes(trigger)) await wait(600_000);
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
