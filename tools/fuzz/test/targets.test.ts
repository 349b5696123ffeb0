import { expect, it } from "vitest";
import { fuzz } from "../src/fuzz.js";
import { readCorpus } from "../src/corpus.js";
import { targets } from "../src/targets/index.js";

/** `npm run fuzz` runs more, with other seeds. */
const cases = 10_000;
const seed = 1;

it.each(targets.map((target) => [target.name, target] as const))(
  `%s: ${cases} random inputs and all inputs that failed before are accepted or rejected`,
  async (name, target) => {
    const fault = await fuzz(target, { cases, seed, corpus: [...readCorpus(name).values()] });
    if (fault !== undefined)
      throw new Error(`input ${Buffer.from(fault.input).toString("hex")}`, { cause: fault.error });
    expect(fault).toBeUndefined();
  },
  120_000,
);

it("names are unique", () => {
  expect(new Set(targets.map(({ name }) => name)).size).toBe(targets.length);
});
