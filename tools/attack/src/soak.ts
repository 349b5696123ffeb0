import { parseArgs } from "node:util";
import { positive, runCommand } from "@istiod/bench";
import { attacks } from "./attacks/index.js";
import { percentile } from "./percentile.js";
import { type SoakResult, SoakRun } from "./soak/soak-run.js";
import { verdicts } from "./soak/verdict.js";

const usage = `Usage: soak [--minutes 30] [--proxies 100] [--services 300] [--heap 768] [--rate 5] [--kills 4] [--seed 1] [--growth 10]

Changes the mesh --rate times per second, runs all attacks in random order, and kills istiod --kills times in the first half, while honest proxies
are connected over TLS. Prints a verdict for each bar, and exits with status 1 unless all hold: istiod does not exit, no proxy loses its stream while
istiod runs, no proxy misses an update, the 99th percentile of /ready is at most 250 ms and none fails, no attack throws, and the heap after
collection grows by at most --growth percent after the kills.`;

const longestTurns = 5;

function summary({ changes, attacks: counts, kills, ready: answers, turns, longestRecoveryMs }: SoakResult): string {
  const ready = answers.map(({ ms }) => ms);
  const longest = [...turns].sort((a, b) => (b.ranMs ?? b.ms) - (a.ranMs ?? a.ms)).slice(0, longestTurns);
  return [
    `${changes} changes, ${kills} kills, all proxies served by the next start within ${(longestRecoveryMs / 1000).toFixed(1)} s`,
    `attacks: ${[...counts].map(([name, count]) => `${count} × ${name}`).join(", ")}`,
    `/ready: ${ready.length} answers, p50 ${percentile(ready, 0.5).toFixed(0)} ms, p99 ${percentile(ready, 0.99).toFixed(0)} ms, max ${percentile(ready, 1).toFixed(0)} ms`,
    ...longest.map(
      ({ ms, ranMs = ms, collectedMs, context }) =>
        `turn of istiod's event loop: ${ranMs.toFixed(0)} ms running of ${ms.toFixed(0)} ms, collecting garbage for ${collectedMs.toFixed(0)} ms, ${context}`,
    ),
  ].join("\n");
}

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    minutes: { type: "string", default: "30" },
    proxies: { type: "string", default: "100" },
    services: { type: "string", default: "300" },
    heap: { type: "string", default: "768" },
    rate: { type: "string", default: "5" },
    kills: { type: "string", default: "4" },
    seed: { type: "string", default: "1" },
    growth: { type: "string", default: "10" },
  },
});
if (values.help) console.log(usage);
else
  await runCommand("soak", async () => {
    const options = {
      minutes: Number(values.minutes),
      proxies: positive("proxies", values.proxies),
      services: positive("services", values.services),
      heapMiB: positive("heap", values.heap),
      rate: positive("rate", values.rate),
      kills: positive("kills", values.kills),
      seed: positive("seed", values.seed),
    };
    if (!(options.minutes > 0)) throw new Error(`--minutes ${values.minutes}: expected a number above 0`);
    const result = await new SoakRun(options, attacks, (line) => console.log(`  ${line}`)).run();
    console.log(`\n${summary(result)}`);
    for (const line of result.differences.slice(0, 20)) console.log(`! ${line}`);
    const found = verdicts(result, Number(values.growth));
    for (const { bar, held, figure } of found) console.log(`${held ? "held  " : "FAILED"}  ${bar}: ${figure}`);
    return found.every(({ held }) => held);
  });
