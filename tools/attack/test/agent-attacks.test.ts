import { expect, it } from "vitest";
import { violations } from "../src/attack.js";
import { agentAttacks, attacks } from "../src/attacks/index.js";
import { runAttack } from "../src/run-attack.js";
import { startAgentTarget } from "../src/target/agent-target.js";

/** `npm run attack` runs the full sizes, with bounds on time as well. */
const scale = 0.2;
const bounds = { rssGrowth: 150 * 2 ** 20, readyMs: Infinity, joinMs: Infinity };

it.each(agentAttacks.map((attack) => [attack.name, attack] as const))(
  "%s costs the agent's Envoy and applications nothing",
  async (_, attack) => {
    const target = await startAgentTarget();
    try {
      expect(violations(await runAttack(attack, target, scale), bounds)).toEqual([]);
    } finally {
      await target.close();
    }
  },
  120_000,
);

it("names are unique", () => {
  const names = [...attacks, ...agentAttacks].map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});
