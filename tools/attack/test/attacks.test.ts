import { expect, it } from "vitest";
import { violations } from "../src/attack.js";
import { attacks } from "../src/attacks/index.js";
import { runAttack } from "../src/run-attack.js";
import { startIstiodTarget } from "../src/target/istiod-target.js";

/** `npm run attack` runs the full sizes, with bounds on time as well. */
const scale = 0.2;
const bounds = { rssGrowth: 300 * 2 ** 20, readyMs: Infinity };

it.each(attacks.map((attack) => [attack.name, attack] as const))(
  "%s costs honest proxies nothing",
  async (_, attack) => {
    const target = await startIstiodTarget({ heapMiB: 512 });
    try {
      expect(violations(await runAttack(attack, target, scale), bounds)).toEqual([]);
    } finally {
      await target.close();
    }
  },
  120_000,
);

it("names are unique", () => {
  expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length);
});
