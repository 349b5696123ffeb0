import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { EnvoyClient } from "@istiod/xds-server/testing";
import { differences, Fleet, nodeOf } from "./churn/fleet.js";
import { type ChangeKind, MeshFiles } from "./churn/mesh-files.js";
import { Random } from "./churn/random.js";
import { startServer, type ServerProcess } from "./churn/server-process.js";
import { serveChurn } from "./churn/server.js";
import { print } from "./measure.js";

const usage = `Usage: churn [--minutes 20] [--proxies 100] [--services 300] [--namespaces 20] [--rate 5] [--seed 1]

Serves a mesh that changes --rate times a second to proxies that come and go, some of them slow or refusing, and shows the
server's memory over time. In the end every proxy must have what a fresh server gives to a fresh proxy.`;

interface Options {
  readonly minutes: number;
  readonly proxies: number;
  readonly services: number;
  readonly namespaces: number;
  /** Changes a second. */
  readonly rate: number;
  readonly seed: number;
}

const megabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
const seconds = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms * 1000));

async function churn(options: Options): Promise<boolean> {
  const root = await mkdtemp(join(tmpdir(), "istiod-churn-"));
  const random = new Random(options.seed);
  const files = new MeshFiles(root, options, random);
  await files.writeAll();
  const server = await startServer(root);
  try {
    const fleet = new Fleet(server.address, Array.from({ length: options.proxies }, (_, number) => files.place(number)), random);
    await fleet.connect();
    const connected = await server.report("collect");
    console.log(`${options.proxies} proxies, ${options.services} services: connected with ${connected.cpuSeconds.toFixed(1)} CPU seconds, load of the machine ${loadavg()[0]?.toFixed(1)}\n`);
    console.log(" minute  RSS MB  heap MB  external MB  CPU s  changes  responses  MB sent  load");
    const seen = await run(options, files, fleet, server, random);
    const end = await server.report("collect");
    const settled = await fleet.settle();
    const fresh = await startServer(root);
    const wrong: string[] = [];
    for (const { place, variant, client } of settled) {
      const expected = new EnvoyClient(fresh.address, { variant: "delta", node: nodeOf(place), history: 0 });
      await expected.initialized();
      await expected.settled();
      wrong.push(...differences(client, expected).map((difference) => `${place.name}.${place.namespace} by ${variant}: ${difference}`));
      expected.close();
    }
    fresh.stop();
    fleet.close();
    for (const line of wrong.slice(0, 20)) console.log(line);
    print("churn", [
      { what: "changes", value: [...seen.changes.values()].reduce((sum, each) => sum + each, 0), unit: "" },
      ...[...seen.changes].map(([kind, value]) => ({ what: `  of them: ${kind}`, value, unit: "" })),
      { what: "responses taken", value: fleet.counts.responses, unit: "" },
      { what: "refused", value: fleet.counts.refused, unit: "" },
      { what: "proxies that went and returned with what they had", value: fleet.counts.returned, unit: "" },
      { what: "proxies that were replaced by new ones", value: fleet.counts.replaced, unit: "" },
      { what: "times that a slow one stopped reading", value: fleet.counts.paused, unit: "" },
      { what: "streams ended by the server", value: fleet.counts.ended, unit: "" },
      { what: "CPU seconds for a change", value: (end.cpuSeconds - connected.cpuSeconds) / Math.max(1, [...seen.changes.values()].reduce((sum, each) => sum + each, 0)), unit: "s" },
      { what: "heap after collection: all connected", value: connected.heap / 2 ** 20, unit: "MB" },
      { what: "heap after collection: after the first part", value: seen.early.heap / 2 ** 20, unit: "MB" },
      { what: "heap after collection: at the end", value: end.heap / 2 ** 20, unit: "MB" },
      { what: "most RSS seen", value: seen.most / 2 ** 20, unit: "MB" },
      { what: "differences from a fresh computation", value: wrong.length, unit: "" },
    ]);
    return wrong.length === 0;
  } finally {
    server.stop();
    await rm(root, { recursive: true, force: true });
  }
}

/** Changes and disturbs for as long as it should. The first part is three minutes, or a third of a shorter run. */
async function run(
  { minutes, rate }: Options,
  files: MeshFiles,
  fleet: Fleet,
  server: ServerProcess,
  random: Random,
): Promise<{ readonly changes: ReadonlyMap<ChangeKind, number>; readonly early: { readonly heap: number }; readonly most: number }> {
  const changes = new Map<ChangeKind, number>();
  const total = minutes * 60;
  const firstPart = Math.min(180, total / 3);
  const begun = performance.now();
  const elapsed = (): number => (performance.now() - begun) / 1000;
  let made = 0;
  let owed = 1;
  let last = 0;
  let shown = -Infinity;
  let most = 0;
  let early: { readonly heap: number } | undefined;
  while (elapsed() < total) {
    // Where the machine cannot keep up, what is behind by more than a second is not made up for.
    owed = Math.min(owed + (elapsed() - last) * rate, rate);
    last = elapsed();
    for (; owed >= 1; owed--, made++) {
      const kind = await files.change();
      changes.set(kind, (changes.get(kind) ?? 0) + 1);
      if (made % rate === 0 && random.chance(0.5)) fleet.comeAndGo();
      if (made % (10 * rate) === 0) fleet.dawdle();
    }
    if (early === undefined && elapsed() >= firstPart) early = await server.report("collect");
    if (elapsed() - shown >= Math.min(30, total / 10)) {
      shown = elapsed();
      const { rss, heap, external, cpuSeconds } = await server.report();
      most = Math.max(most, rss);
      const columns = [(shown / 60).toFixed(1), megabytes(rss), megabytes(heap), megabytes(external), cpuSeconds.toFixed(0), made, fleet.counts.responses, megabytes(fleet.counts.bytes), loadavg()[0]?.toFixed(1) ?? ""];
      console.log(columns.map((column, at) => String(column).padStart([7, 8, 9, 13, 7, 9, 11, 9, 6][at] ?? 0)).join(""));
    }
    await seconds(0.02);
  }
  return { changes, early: early ?? (await server.report("collect")), most };
}

const { values } = parseArgs({
  options: {
    serve: { type: "string" },
    help: { type: "boolean" },
    minutes: { type: "string", default: "20" },
    proxies: { type: "string", default: "100" },
    services: { type: "string", default: "300" },
    namespaces: { type: "string", default: "20" },
    rate: { type: "string", default: "5" },
    seed: { type: "string", default: "1" },
  },
});
if (values.serve !== undefined) await serveChurn(values.serve);
else if (values.help) console.log(usage);
else {
  const number = (name: "minutes" | "proxies" | "services" | "namespaces" | "rate" | "seed"): number => {
    const value = Number(values[name]);
    if (!Number.isFinite(value) || value <= 0) throw new Error(`--${name} ${values[name]}: expected a number above 0`);
    return value;
  };
  const right = await churn({ minutes: number("minutes"), proxies: number("proxies"), services: number("services"), namespaces: number("namespaces"), rate: number("rate"), seed: number("seed") });
  process.exit(right ? 0 : 1);
}
