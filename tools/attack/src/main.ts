import { parseArgs } from "node:util";
import { lines, runCommand } from "@istiod/bench";
import { type Attack, type Bounds, violations } from "./attack.js";
import { attacks } from "./attacks/index.js";
import { runAttack } from "./run-attack.js";
import { effectColumns } from "./table.js";
import { startIstiodTarget, strangerAddress } from "./target/istiod-target.js";

const usage = `Usage: attack [NAME...] [--scale 1] [--heap 512] [--from 127.0.0.66]

Runs attacks on an istiod with a heap of --heap MiB, each on a new one, and prints what each cost istiod. Exits with status 1 if one exceeds the bounds:
300 MiB more memory, 1 s for an answer of /ready, a failure of it, a lost stream of an honest proxy, an update that does not arrive,
a new proxy that is not served within 5 s, or, if attackers have its address (--from 127.0.0.1), not after the attack.

Attacks:
${attacks.map(({ name, description }) => `  ${name.padEnd(24)} ${description}`).join("\n")}`;

/** Address of the honest proxies. */
const honestAddress = "127.0.0.1";

async function runAll(
  chosen: readonly Attack[],
  scale: number,
  heapMiB: number,
  attackerAddress: string,
): Promise<boolean> {
  const joinMs = attackerAddress === honestAddress ? Infinity : 5000;
  const bounds: Bounds = { rssGrowth: 300 * 2 ** 20, readyMs: 1000, joinMs };
  let held = true;
  const columns = effectColumns(bounds);
  console.log(lines(columns, [])[0]);
  for (const attack of chosen) {
    const target = await startIstiodTarget({ heapMiB, attackerAddress });
    try {
      const effect = await runAttack(attack, target, scale);
      console.log(lines(columns, [effect])[1]);
      held &&= violations(effect, bounds).length === 0;
    } finally {
      await target.close();
    }
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
    const unknown = positionals.find((name) => !attacks.some((attack) => attack.name === name));
    if (unknown !== undefined) throw new Error(`no attack ${unknown}`);
    const scale = Number(values.scale);
    if (!(scale > 0 && scale <= 1)) throw new Error(`--scale ${values.scale}: expected a number above 0, at most 1`);
    const chosen = attacks.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
    return runAll(chosen, scale, Number(values.heap), values.from);
  });
