import { expect, it } from "vitest";
import { type Attack, violations } from "../src/attack.js";
import { agentAttacks, attacks, webhookAttacks } from "../src/attacks/index.js";
import { runAttack } from "../src/run-attack.js";
import { startIstiodTarget, strangerAddress } from "../src/target/istiod-target.js";
import { startWebhookTarget } from "../src/target/webhook-target.js";

/** `npm run attack` runs the full sizes, with bounds on time as well. */
const scale = 0.2;
const bounds = { rssGrowth: 300 * 2 ** 20, readyMs: Infinity, joinMs: Infinity };

async function attacked(attack: Attack, attackerAddress: string): Promise<string[]> {
  const target = await startIstiodTarget({ heapMiB: 512, attackerAddress });
  try {
    return violations(await runAttack(attack, target, scale), bounds);
  } finally {
    await target.close();
  }
}

it.each(attacks.map((attack) => [attack.name, attack] as const))(
  "%s costs honest proxies nothing",
  async (_, attack) => {
    expect(await attacked(attack, strangerAddress)).toEqual([]);
  },
  120_000,
);

it.each(webhookAttacks.map((attack) => [attack.name, attack] as const))(
  "%s costs honest API servers nothing",
  async (_, attack) => {
    const target = await startWebhookTarget();
    try {
      const rssGrowth = 400 * 2 ** 20;
      expect(violations(await runAttack(attack, target, scale), { ...bounds, rssGrowth })).toEqual([]);
    } finally {
      await target.close();
    }
  },
  120_000,
);

it.each(["opened-streams", "handshake-storm"])(
  "%s from the address of honest proxies costs them neither their streams nor an update",
  async (name) => {
    const attack = attacks.find((each) => each.name === name);
    expect(attack && (await attacked(attack, "127.0.0.1"))).toEqual([]);
  },
  120_000,
);

it("names are unique", () => {
  const names = [...attacks, ...webhookAttacks, ...agentAttacks].map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});
