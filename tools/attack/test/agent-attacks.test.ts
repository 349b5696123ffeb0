import { expect, it } from "vitest";
import { violations } from "../src/attack.js";
import { agentAttacks, attacks } from "../src/attacks/index.js";
import { runAttack } from "../src/run-attack.js";
import { startAgentTarget } from "../src/target/agent-target.js";

/** `npm run attack` runs the full sizes, with bounds on time as well. */
const scale = 0.2;
const bounds = { rssGrowth: 150 * 2 ** 20, readyMs: Infinity, joinMs: Infinity };

for (const attack of agentAttacks)
  it(`${attack.name} costs the agent's Envoy and applications nothing`, async (context) => {
    const target = await startAgentTarget();
    try {
      const effect = await runAttack(attack, target, scale);
      expect(violations(effect, bounds)).toEqual([]);
      context.skip(effect.sent.startsWith("nothing:"), `sent ${effect.sent}`);
    } finally {
      await target.close();
    }
  }, 120_000);

it("names are unique", () => {
  const names = [...attacks, ...agentAttacks].map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});
