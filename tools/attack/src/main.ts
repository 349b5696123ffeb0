import { parseArgs } from "node:util";
import { lines, runCommand } from "@istiod/bench";
import { type Attack, type Bounds, type Effect, violations } from "./attack.js";
import { agentAttacks, attacks, webhookAttacks } from "./attacks/index.js";
import { runAttack } from "./run-attack.js";
import { effectColumns } from "./table.js";
import { startAgentTarget } from "./target/agent-target.js";
import { startIstiodTarget, strangerAddress } from "./target/istiod-target.js";
import type { Target } from "./target/target.js";
import { startWebhookTarget } from "./target/webhook-target.js";

const usage = `Usage: attack [NAME...] [--scale 1] [--heap 512] [--from 127.0.0.66]

Runs attacks on an istiod with a heap of --heap MiB, or on an agent with a heap of 256 MiB, each on a new one, and prints what each cost. Exits with status 1 if
one exceeds the bounds: 300 MiB more memory (webhooks: 400 MiB, an agent: 150 MiB), 1 s for an answer of the readiness probe, a failure of it, a lost stream of an honest client, an
update that does not arrive, a new client that is not served within 5 s, or, if attackers have its address (--from 127.0.0.1), not after the attack.

Attacks:
${[...attacks, ...webhookAttacks, ...agentAttacks].map(({ name, description }) => `  ${name.padEnd(24)} ${description}`).join("\n")}`;

/** Address of the honest proxies. */
const honestAddress = "127.0.0.1";
/** Bytes by which the memory may grow. */
const istiodGrowth = 300 * 2 ** 20;
/** Large reviews are decided in a thread with a heap of its own. */
const webhookGrowth = 400 * 2 ** 20;
const agentGrowth = 150 * 2 ** 20;

/** An attack with what starts its target. */
interface Planned {
  readonly name: string;
  readonly bounds: Bounds;
  run(scale: number): Promise<Effect>;
}

function planned(heapMiB: number, attackerAddress: string): readonly Planned[] {
  const joinMs = attackerAddress === honestAddress ? Infinity : 5000;
  const plan =
    <T extends Target>(start: () => Promise<T>, rssGrowth: number) =>
    (attack: Attack<T>): Planned => ({
      name: attack.name,
      bounds: { rssGrowth, readyMs: 1000, joinMs },
      async run(scale) {
        const target = await start();
        return runAttack(attack, target, scale).finally(() => target.close());
      },
    });
  return [
    ...attacks.map(plan(() => startIstiodTarget({ heapMiB, attackerAddress }), istiodGrowth)),
    ...webhookAttacks.map(plan(() => startWebhookTarget({ heapMiB, attackerAddress }), webhookGrowth)),
    ...agentAttacks.map(plan(() => startAgentTarget({ attackerAddress }), agentGrowth)),
  ];
}

async function runAll(chosen: readonly Planned[], scale: number): Promise<boolean> {
  let held = true;
  let head: string | undefined;
  for (const attack of chosen) {
    const columns = effectColumns(attack.bounds);
    if (head === undefined) console.log((head = lines(columns, [])[0]));
    const effect = await attack.run(scale);
    console.log(lines(columns, [effect])[1]);
    held &&= violations(effect, attack.bounds).length === 0;
  }
  return held;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: "boolean", short: "h" },
    scale: { type: "string", default: "1" },
    heap: { type: "string", default: "512" },
    from: { type: "string", default: strangerAddress },
  },
});
if (values.help) console.log(usage);
else
  await runCommand("attack", () => {
    const all = planned(Number(values.heap), values.from);
    const unknown = positionals.find((name) => !all.some((attack) => attack.name === name));
    if (unknown !== undefined) throw new Error(`no attack ${unknown}`);
    const scale = Number(values.scale);
    if (!(scale > 0 && scale <= 1)) throw new Error(`--scale ${values.scale}: expected a number above 0, at most 1`);
    const chosen = all.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
    return runAll(chosen, scale);
  });
