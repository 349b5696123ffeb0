import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Closers } from "@istiod/runtime";
import { type ChurnOptions, ChurnRun } from "./churn/churn-run.js";
import { ChurningFleet, type SettledProxy, differencesFromFresh } from "./churn/fleet.js";
import { randomChange } from "./churn/random-change.js";
import { type Sample, sampleColumns } from "./churn/sample.js";
import { summary } from "./churn/summary.js";
import { lines } from "./fleet/table.js";
import { writeObjects } from "./mesh/directory.js";
import { Mesh } from "./mesh/mesh.js";
import { positive, runCommand } from "./options.js";
import { type IstiodProcess, startIstiod } from "./server/istiod-process.js";
import { memory } from "./server/usage.js";

const usage = `Usage: churn [--minutes 20] [--proxies 100] [--services 300] [--namespaces 20] [--rate 5] [--seed 1] [--growth 15] [--json FILE]

Serves a mesh that changes --rate times per second to proxies that connect and disconnect, some of which read slowly or reject responses. At the end
every proxy must have the resources that a fresh istiod sends to a new proxy, and the heap must not have grown by more than --growth percent since the
first three minutes. Otherwise exits with status 1.`;

/**
 * Changes per service before the mesh is served. They bring the number of pods and the variety of rules to their
 * long-term average: a mesh that starts with two pods per service has 80 % more after twenty changes per service, and
 * memory grows with it.
 */
const changesBefore = 80;

async function churn(options: ChurnOptions, json: string | undefined): Promise<boolean> {
  const closers = new Closers();
  try {
    const { run, fleet, server, directory } = await start(options, closers);
    const connected = await run.sample("collect");
    console.log(
      `${options.proxies} proxies, ${options.services} services: connected with ${connected.cpuSeconds.toFixed(1)} CPU seconds\n`,
    );
    console.log(lines(sampleColumns, [])[0]);
    const early = await run.run();
    const end = await run.sample("collect");
    const proxies = await fleet.settle();
    const settled = await run.sample("collect");
    const { differences, missedUpdates } = await compareWithFresh(proxies, directory, closers);
    const growth = heapGrowth(early, end);
    const changes = [...run.changes.values()].reduce((sum, each) => sum + each, 0);
    const result = {
      options,
      changes: Object.fromEntries(run.changes),
      fleet: fleet.counts,
      cpuSecondsAChange: (end.cpuSeconds - connected.cpuSeconds) / Math.max(1, changes),
      memory: { connected, early, end, settled, peakRss: memory(server.pid).peak },
      missedUpdates,
      differences,
      samples: run.samples,
      failures: failuresOf(differences, missedUpdates, growth, options.growth),
    };
    console.log(`\n${summary(result, changes, growth).join("\n")}`);
    for (const line of [...differences.slice(0, 20), ...result.failures]) console.log(`! ${line}`);
    if (json !== undefined) await writeFile(json, JSON.stringify(result, undefined, 1));
    return result.failures.length === 0;
  } finally {
    await closers.close();
  }
}

interface Setup {
  readonly run: ChurnRun;
  readonly fleet: ChurningFleet;
  readonly server: IstiodProcess;
  readonly directory: string;
}

/** Writes the mesh, starts istiod, and connects the fleet. */
async function start(options: ChurnOptions, closers: Closers): Promise<Setup> {
  const root = await mkdtemp(join(tmpdir(), "istiod-churn-"));
  closers.defer(() => rm(root, { recursive: true, force: true }));
  const directory = join(root, "mesh");
  const mesh = new Mesh({ ...options, endpoints: 2, scoped: 0.5, neighbours: 1, gatewayRoutes: 0 });
  for (let change = 0; change < changesBefore * options.services; change++) randomChange(mesh);
  await writeObjects(directory, mesh.objects());
  const server = await startIstiod({ directory });
  closers.defer(() => server.stop());
  const fleet = new ChurningFleet(server.xds, mesh.proxies(), mesh.random);
  closers.defer(() => fleet.close());
  await fleet.connect();
  return { run: new ChurnRun(options, mesh, directory, fleet, server), fleet, server, directory };
}

/** Compares the state of each proxy with that of a new proxy of an istiod started now. */
async function compareWithFresh(
  proxies: readonly SettledProxy[],
  directory: string,
  closers: Closers,
): Promise<{ readonly differences: readonly string[]; readonly missedUpdates: number }> {
  const fresh = await startIstiod({ directory });
  closers.defer(() => fresh.stop());
  const differences: string[] = [];
  let missedUpdates = 0;
  for (const proxy of proxies) {
    const found = await differencesFromFresh(proxy, fresh.xds);
    if (found.length > 0) missedUpdates++;
    const { place, variant } = proxy;
    differences.push(...found.map((difference) => `${place.name}.${place.namespace} by ${variant}: ${difference}`));
  }
  return { differences, missedUpdates };
}

/** Returns the growth in percent. */
function heapGrowth(early: Sample, end: Sample): number {
  return (100 * (end.heap - early.heap)) / early.heap;
}

function failuresOf(differences: readonly string[], missedUpdates: number, growth: number, limit: number): string[] {
  return [
    ...(differences.length > 0
      ? [`${differences.length} differences from a fresh computation, in ${missedUpdates} proxies`]
      : []),
    ...(growth > limit ? [`the heap grew by ${growth.toFixed(1)} % since the first part, more than ${limit} %`] : []),
  ];
}

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    minutes: { type: "string", default: "20" },
    proxies: { type: "string", default: "100" },
    services: { type: "string", default: "300" },
    namespaces: { type: "string", default: "20" },
    rate: { type: "string", default: "5" },
    seed: { type: "string", default: "1" },
    growth: { type: "string", default: "15" },
    json: { type: "string" },
  },
});
if (values.help) console.log(usage);
else {
  const { json, help: _, minutes, ...numbers } = values;
  const read = (flag: keyof typeof numbers): number => positive(flag, numbers[flag]);
  await runCommand("churn", () => {
    const options = {
      minutes: Number(minutes),
      proxies: read("proxies"),
      services: read("services"),
      namespaces: read("namespaces"),
      rate: read("rate"),
      seed: read("seed"),
      growth: read("growth"),
    };
    if (!(options.minutes > 0)) throw new Error(`--minutes ${minutes}: expected a number above 0`);
    return churn(options, json);
  });
}
