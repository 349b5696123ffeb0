import { parseArgs } from "node:util";
import { positive, runCommand } from "@istiod/bench";
import { mebibytes } from "./attack.js";
import { attacks } from "./attacks/index.js";
import { percentile } from "./percentile.js";
import { type SoakResult, SoakRun } from "./soak/soak-run.js";

const usage = `Usage: soak [--minutes 30] [--proxies 100] [--services 300] [--heap 768] [--rate 5] [--kills 4] [--seed 1] [--growth 10]

Changes the mesh --rate times per second, runs all attacks in random order, and kills istiod --kills times in the first half, while honest proxies
are connected over TLS. Exits with status 1 if istiod exits, a proxy loses its stream while istiod runs, a proxy misses an update, the 99th
percentile of /ready is above 250 ms, or the heap after collection grows by more than --growth percent after the kills.`;

const readyMs = 250;

function failures(result: SoakResult, growthLimit: number): string[] {
  const { exits, lost, differences, ready, readyFailures, heap } = result;
  const p99 = percentile(ready, 0.99);
  const growth = (100 * (heap.end - heap.early)) / heap.early;
  return [
    ...(exits > 0 ? [`istiod exited ${exits} times`] : []),
    ...[...lost].map(([reason, count]) => `${count} honest streams ended: ${reason}`),
    ...(differences.length > 0 ? [`${differences.length} differences from a fresh computation`] : []),
    ...(p99 > readyMs ? [`/ready p99 is ${p99.toFixed(0)} ms`] : []),
    ...(readyFailures > 0 ? [`/ready failed ${readyFailures} times`] : []),
    ...(growth > growthLimit ? [`the heap grew by ${growth.toFixed(1)} %`] : []),
  ];
}

function summary({ changes, attacks: counts, kills, ready, longestRecoveryMs, heap }: SoakResult): string {
  return [
    `${changes} changes, ${kills} kills, all proxies connected again within ${(longestRecoveryMs / 1000).toFixed(1)} s`,
    `attacks: ${[...counts].map(([name, count]) => `${count} × ${name}`).join(", ")}`,
    `/ready: ${ready.length} answers, p50 ${percentile(ready, 0.5).toFixed(0)} ms, p99 ${percentile(ready, 0.99).toFixed(0)} ms, max ${percentile(ready, 1).toFixed(0)} ms`,
    `heap after collection: ${mebibytes(heap.early)} after the kills, ${mebibytes(heap.end)} at the end`,
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
    const found = failures(result, Number(values.growth));
    for (const line of [...result.differences.slice(0, 20), ...found]) console.log(`! ${line}`);
    return found.length === 0;
  });
