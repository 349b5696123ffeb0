import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { ChurningFleet, differencesFromFresh } from "./churn/fleet.js";
import { randomChange } from "./churn/random-change.js";
import type { Column } from "./fleet/table.js";
import { lines } from "./fleet/table.js";
import type { ChangeKind } from "./mesh/changes.js";
import { apply, writeObjects } from "./mesh/directory.js";
import { Mesh } from "./mesh/mesh.js";
import { positive, runCommand } from "./options.js";
import { type IstiodProcess, startIstiod } from "./server/istiod-process.js";
import { cpuSeconds, memory } from "./server/usage.js";

const usage = `Usage: churn [--minutes 20] [--proxies 100] [--services 300] [--namespaces 20] [--rate 5] [--seed 1] [--growth 15] [--json FILE]

Serves a mesh that changes --rate times a second to proxies that come and go, some of them slow or refusing. In the end every proxy must have
what a fresh server gives to a fresh proxy, and the heap may have grown by no more than --growth per cent since the first three minutes.
Exits with 1 otherwise.`;

interface Options {
  readonly minutes: number;
  readonly proxies: number;
  readonly services: number;
  readonly namespaces: number;
  /** Changes a second. */
  readonly rate: number;
  readonly seed: number;
  /** Per cent of the heap. */
  readonly growth: number;
}

/** The state of istiod at one moment. Bytes. */
interface Sample {
  readonly minute: number;
  readonly rss: number;
  readonly heap: number;
  readonly external: number;
  /** Of the heap, what V8 made of functions. */
  readonly code: number;
  readonly cpuSeconds: number;
  readonly changes: number;
  readonly responses: number;
  readonly bytesSent: number;
  readonly load: number;
}

/**
 * So often, for each service, the mesh is changed before it is served: by then services have as many pods as they will
 * have on average, and rules differ as much. A mesh that began with two pods a service had four fifths more after
 * twenty changes of each, and memory grew with it.
 */
const changesBefore = 80;

const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
const columns: readonly Column<Sample>[] = [
  { head: "minute", of: ({ minute }) => minute.toFixed(1), width: 6 },
  { head: "RSS MiB", of: ({ rss }) => mib(rss), width: 7 },
  { head: "heap MiB", of: ({ heap }) => mib(heap), width: 8 },
  { head: "code MiB", of: ({ code }) => mib(code), width: 8 },
  { head: "external MiB", of: ({ external }) => mib(external), width: 12 },
  { head: "CPU s", of: ({ cpuSeconds }) => cpuSeconds.toFixed(0), width: 5 },
  { head: "changes", of: ({ changes }) => String(changes), width: 7 },
  { head: "responses", of: ({ responses }) => String(responses), width: 9 },
  { head: "MiB sent", of: ({ bytesSent }) => mib(bytesSent), width: 8 },
  { head: "load", of: ({ load }) => load.toFixed(1), width: 5 },
];

async function churn(options: Options, json: string | undefined): Promise<boolean> {
  const root = await mkdtemp(join(tmpdir(), "istiod-churn-"));
  const directory = join(root, "mesh");
  const mesh = new Mesh({ ...options, endpoints: 2, scoped: 0.5, neighbours: 1, gatewayRoutes: 0 });
  for (let change = 0; change < changesBefore * options.services; change++) randomChange(mesh);
  await writeObjects(directory, mesh.objects());
  let server: IstiodProcess | undefined;
  let fresh: IstiodProcess | undefined;
  let fleet: ChurningFleet | undefined;
  try {
    server = await startIstiod({ directory });
    fleet = new ChurningFleet(server.xds, mesh.proxies(), mesh.random);
    await fleet.connect();
    const run = new Run(options, mesh, directory, fleet, server);
    const connected = await run.sample("collect");
    console.log(
      `${options.proxies} proxies, ${options.services} services: connected with ${connected.cpuSeconds.toFixed(1)} CPU seconds\n`,
    );
    console.log(lines(columns, [])[0]);
    const early = await run.all();
    const end = await run.sample("collect");
    const settled = await fleet.settle();
    const settledAfterGc = await run.sample("collect");
    fresh = await startIstiod({ directory });
    const wrong: string[] = [];
    let missed = 0;
    for (const each of settled) {
      const found = await differencesFromFresh(each, fresh.xds);
      if (found.length > 0) missed++;
      wrong.push(
        ...found.map((difference) => `${each.place.name}.${each.place.namespace} by ${each.variant}: ${difference}`),
      );
    }
    const growth = (100 * (end.heap - early.heap)) / early.heap;
    const failures = [
      ...(wrong.length > 0 ? [`${wrong.length} differences from a fresh computation, in ${missed} proxies`] : []),
      ...(growth > options.growth
        ? [`the heap grew by ${growth.toFixed(1)} % since the first part, more than ${options.growth} %`]
        : []),
    ];
    const changes = [...run.changes.values()].reduce((sum, each) => sum + each, 0);
    const result = {
      options,
      changes: Object.fromEntries(run.changes),
      fleet: fleet.counts,
      cpuSecondsAChange: (end.cpuSeconds - connected.cpuSeconds) / Math.max(1, changes),
      memory: { connected, early, end, settled: settledAfterGc, peakRss: memory(server.pid).peak },
      missedUpdates: missed,
      differences: wrong,
      samples: run.samples,
      failures,
    };
    console.log(`\n${summary(result, changes, growth).join("\n")}`);
    for (const line of wrong.slice(0, 20)) console.log(`! ${line}`);
    for (const line of failures) console.log(`! ${line}`);
    if (json !== undefined) await writeFile(json, JSON.stringify(result, undefined, 1));
    return failures.length === 0;
  } finally {
    fleet?.close();
    await fresh?.stop();
    await server?.stop();
    await rm(root, { recursive: true, force: true });
  }
}

interface Result {
  readonly changes: Readonly<Record<string, number>>;
  readonly fleet: ChurningFleet["counts"];
  readonly cpuSecondsAChange: number;
  readonly memory: {
    readonly connected: Sample;
    readonly early: Sample;
    readonly end: Sample;
    readonly peakRss: number;
  };
  readonly missedUpdates: number;
  readonly differences: readonly string[];
}

function summary(
  { changes, fleet, cpuSecondsAChange, memory, missedUpdates, differences }: Result,
  made: number,
  growth: number,
): string[] {
  const three = (of: (sample: Sample) => number): string =>
    [memory.connected, memory.early, memory.end].map((sample) => (of(sample) / 2 ** 20).toFixed(1)).join(", ");
  const rows: readonly (readonly [string, string])[] = [
    [
      "changes",
      `${made}: ${Object.entries(changes)
        .sort(([, a], [, b]) => b - a)
        .map(([kind, times]) => `${kind} ${times}`)
        .join(", ")}`,
    ],
    ["responses taken, refused", `${fleet.responses}, ${fleet.refused}`],
    ["proxies that went and returned with what they had, as new ones", `${fleet.returned}, ${fleet.replaced}`],
    ["times that a slow one stopped reading; streams ended by the server", `${fleet.paused}; ${fleet.ended}`],
    ["CPU of istiod for a change", `${(cpuSecondsAChange * 1000).toFixed(1)} ms`],
    [
      "heap after collection: all connected, after the first part, at the end",
      `${three(({ heap }) => heap)} MiB (${growth >= 0 ? "+" : ""}${growth.toFixed(1)} % since the first part)`,
    ],
    [
      "of that V8's code; buffers beside the heap",
      `${three(({ code }) => code)} MiB; ${three(({ external }) => external)} MiB`,
    ],
    [
      "RSS: the same, and the most",
      `${[memory.connected.rss, memory.early.rss, memory.end.rss, memory.peakRss].map(mib).join(", ")} MiB`,
    ],
    ["differences from a fresh computation", String(differences.length)],
    ["proxies that missed an update", String(missedUpdates)],
  ];
  const width = Math.max(...rows.map(([what]) => what.length));
  return rows.map(([what, value]) => `${what.padEnd(width)}  ${value}`);
}

/** The time in which the mesh changes. */
class Run {
  readonly changes = new Map<ChangeKind, number>();
  readonly samples: Sample[] = [];
  readonly #options: Options;
  readonly #mesh: Mesh;
  readonly #directory: string;
  readonly #fleet: ChurningFleet;
  readonly #server: IstiodProcess;
  readonly #begun = performance.now();
  #made = 0;

  constructor(options: Options, mesh: Mesh, directory: string, fleet: ChurningFleet, server: IstiodProcess) {
    this.#options = options;
    this.#mesh = mesh;
    this.#directory = directory;
    this.#fleet = fleet;
    this.#server = server;
  }

  async sample(request: "report" | "collect"): Promise<Sample> {
    const { rss, heap, external, code } = await this.#server.heap(request);
    const { responses, bytes } = this.#fleet.counts;
    return {
      minute: this.#seconds() / 60,
      rss,
      heap,
      external,
      code,
      cpuSeconds: cpuSeconds(this.#server.pid),
      changes: this.#made,
      responses,
      bytesSent: bytes,
      load: loadavg()[0] ?? 0,
    };
  }

  /**
   * Changes and disturbs for as long as it should; gives the state after the first part: three minutes, or a third of a
   * shorter run.
   */
  async all(): Promise<Sample> {
    const { minutes, rate } = this.#options;
    const total = minutes * 60;
    const firstPart = Math.min(180, total / 3);
    const begun = this.#seconds();
    const elapsed = (): number => this.#seconds() - begun;
    let owed = 1;
    let last = 0;
    let shown = -Infinity;
    let early: Sample | undefined;
    while (elapsed() < total) {
      // Where the machine cannot keep up, what is behind by more than a second is not made up for.
      owed = Math.min(owed + (elapsed() - last) * rate, rate);
      last = elapsed();
      for (; owed >= 1; owed--) await this.#change();
      if (early === undefined && elapsed() >= firstPart) early = await this.sample("collect");
      if (elapsed() - shown >= Math.min(30, total / 10)) {
        shown = elapsed();
        const sample = await this.sample("report");
        this.samples.push(sample);
        console.log(lines(columns, [sample])[1]);
      }
      await wait(20);
    }
    return early ?? this.sample("collect");
  }

  async #change(): Promise<void> {
    const { rate } = this.#options;
    const made = randomChange(this.#mesh);
    await apply(this.#directory, made);
    this.changes.set(made.kind, (this.changes.get(made.kind) ?? 0) + 1);
    if (this.#made % rate === 0 && this.#mesh.random.chance(0.5)) this.#fleet.comeAndGo();
    if (this.#made % (10 * rate) === 0) this.#fleet.dawdle();
    this.#made++;
  }

  #seconds(): number {
    return (performance.now() - this.#begun) / 1000;
  }
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
