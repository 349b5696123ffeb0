import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { toBinary } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { untilSettled } from "./churn/fleet.js";
import { SimulatedProxy } from "./client/simulated-proxy.js";
import type { ServerAnswer, ServerKind, ServerRequest } from "./cluster-costs/server.js";
import { writeObjects } from "./mesh/directory.js";
import { Mesh, type MeshOptions } from "./mesh/mesh.js";
import { nodeOf } from "./mesh/proxies.js";
import { positive, runCommand } from "./options.js";
import { type IstiodProcess, startIstiod } from "./server/istiod-process.js";
import { selfReport } from "./server/self-report.js";
import { cpuSeconds, memory } from "./server/usage.js";

const usage = `Usage: cluster-costs [--server memory|real] [--services 1000] [--endpoints 10] [--rounds 3] [--idle 30] [--rate 50] [--minutes 10] [--singles 30]

Measures an istiod that reads a cluster, whose API server is another process: one in memory, or with --server real that of tools/cluster. CPU time and peak RSS until it is ready, in turns with an
istiod that reads the same objects from a directory; CPU time while nothing changes; CPU time per change and the heap while Pods and their EndpointSlices
change --rate times a second; the time from a commit to the first response of --singles changes, one after the other.

Times from a commit mean something only on a machine that does nothing else; CPU times are the least of the rounds.

Exit status 1 above 1.0 of the directory's CPU time, 1.2 of its RSS, 5 ms of CPU a second while idle, or a median of 5 ms from the commit to the response.`;

const bars = { cpu: 1, rss: 1.2, idleMs: 5, sentMs: 5 } as const;

const settleMs = 60_000;

interface Startup {
  readonly cpu: number;
  readonly peak: number;
}

interface CostOptions {
  readonly server: ServerKind;
  readonly mesh: MeshOptions;
  readonly rounds: number;
  readonly idleSeconds: number;
  readonly rate: number;
  readonly minutes: number;
  readonly singles: number;
}

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    server: { type: "string", default: "memory" },
    services: { type: "string", default: "1000" },
    endpoints: { type: "string", default: "10" },
    rounds: { type: "string", default: "3" },
    idle: { type: "string", default: "30" },
    rate: { type: "string", default: "50" },
    minutes: { type: "string", default: "10" },
    singles: { type: "string", default: "30" },
  },
});
if (values.help === true) console.log(usage);
else
  await runCommand("cluster-costs", () =>
    measure({
      server: serverKind(values.server),
      mesh: {
        services: positive("services", values.services),
        namespaces: 20,
        endpoints: positive("endpoints", values.endpoints),
        proxies: 20,
        seed: 1,
      },
      rounds: positive("rounds", values.rounds),
      idleSeconds: positive("idle", values.idle),
      rate: positive("rate", values.rate),
      minutes: Number(values.minutes),
      singles: positive("singles", values.singles),
    }),
  );

function serverKind(name: string): ServerKind {
  if (name !== "memory" && name !== "real") throw new Error(`--server ${name}: expected memory or real`);
  return name;
}

async function measure(options: CostOptions): Promise<boolean> {
  const work = await mkdtemp(join(tmpdir(), "istiod-cluster-costs-"));
  const server = fork(new URL("../dist/cluster-costs/server.js", import.meta.url));
  try {
    const mesh = new Mesh(options.mesh);
    const directory = join(work, "objects");
    await writeObjects(directory, mesh.objects());
    const { kubeconfig: text = "" } = await ask(server, { start: options.mesh, kind: options.server });
    const kubeconfig = join(work, "kubeconfig");
    await writeFile(kubeconfig, text, { mode: 0o600 });
    const isCheap = await compareStartups(options, directory, kubeconfig);
    const istiod = await startIstiod({ kubeconfig });
    try {
      return [isCheap, ...(await running(options, istiod, server, mesh))].every(Boolean);
    } finally {
      await istiod.stop();
    }
  } finally {
    server.disconnect();
    await rm(work, { recursive: true, force: true });
  }
}

/** Starts istiod with either source in turns. The least of the rounds counts: other work of the machine only adds. */
async function compareStartups({ rounds }: CostOptions, directory: string, kubeconfig: string): Promise<boolean> {
  const startups = { directory: [] as Startup[], cluster: [] as Startup[] };
  for (let round = 0; round < rounds; round++) {
    startups.directory.push(await startup({ directory }));
    startups.cluster.push(await startup({ kubeconfig }));
  }
  const least = (source: keyof typeof startups, figure: keyof Startup): number =>
    Math.min(...startups[source].map((each) => each[figure]));
  const [cpu, rss] = (["cpu", "peak"] as const).map((figure) => least("cluster", figure) / least("directory", figure));
  const seconds = (source: keyof typeof startups): string => `${least(source, "cpu").toFixed(2)} s`;
  const megabytes = (source: keyof typeof startups): string => `${(least(source, "peak") / 1e6).toFixed(0)} MB`;
  return [
    report("CPU until ready", `cluster ${seconds("cluster")}, directory ${seconds("directory")}`, cpu, bars.cpu),
    report("peak RSS", `cluster ${megabytes("cluster")}, directory ${megabytes("directory")}`, rss, bars.rss),
  ].every(Boolean);
}

async function startup(source: Parameters<typeof startIstiod>[0]): Promise<Startup> {
  const istiod = await startIstiod(source);
  try {
    return { cpu: cpuSeconds(istiod.pid), peak: memory(istiod.pid).peak };
  } finally {
    await istiod.stop();
  }
}

/** Measures a running istiod with two proxies: idle, under single changes, and under a constant rate of changes. */
async function running(
  { idleSeconds, rate, minutes, singles }: CostOptions,
  istiod: IstiodProcess,
  server: ChildProcess,
  mesh: Mesh,
): Promise<readonly boolean[]> {
  const proxies = mesh
    .proxies()
    .slice(0, 2)
    .map(
      (place) =>
        new SimulatedProxy({ target: istiod.xds, variant: "delta", node: toBinary(NodeSchema, nodeOf(place)) }),
    );
  for (const proxy of proxies) proxy.connect();
  for (const proxy of proxies) await untilSettled(proxy);
  // Node collects garbage for a while after a startup.
  await istiod.heap("collect");
  await wait(settleMs);
  const idle = await cpuOf(istiod, () => wait(idleSeconds * 1000));
  const isIdle = report("CPU while idle", "ms a second", (1000 * idle) / idleSeconds, bars.idleMs);
  const sent = await singleChanges(istiod, server, singles);
  const isFast = report("first response after the commit, median of single changes", "ms", median(sent), bars.sentMs);
  const before = await istiod.heap("collect");
  let changes = 0;
  const busy = await cpuOf(istiod, async () => {
    ({ changes = 0 } = await ask(server, { rate, seconds: minutes * 60 }));
  });
  const after = await istiod.heap("collect");
  for (const proxy of proxies) proxy.drop();
  console.log(`  load of the machine: ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} processors`);
  console.log(`${changes} changes at ${rate} a second: ${((1000 * busy) / changes).toFixed(2)} ms of CPU each`);
  console.log(
    `heap after collection: ${(before.heap / 1e6).toFixed(1)} MB, ${(after.heap / 1e6).toFixed(1)} MB at the end`,
  );
  return [isIdle, isFast];
}

/** Makes changes one after the other. Returns the milliseconds from the commit of each to its first response. */
async function singleChanges({ http }: IstiodProcess, server: ChildProcess, count: number): Promise<readonly number[]> {
  const self = selfReport(http);
  const sent: number[] = [];
  let revision = Math.max(0, ...(await self.changes(0)).map((change) => change.revision));
  for (let at = 0; at < count; at++) {
    await ask(server, { rate: 1, seconds: 1 });
    for (const until = performance.now() + 30_000; performance.now() < until; await wait(50)) {
      const found = (await self.changes(revision)).find(({ firstSentMs }) => firstSentMs !== undefined);
      if (found?.firstSentMs === undefined) continue;
      sent.push(found.firstSentMs);
      revision = found.revision;
      break;
    }
  }
  if (sent.length < count) throw new Error(`${count - sent.length} of ${count} changes had no response`);
  return sent;
}

async function cpuOf({ pid }: IstiodProcess, work: () => Promise<unknown>): Promise<number> {
  const before = cpuSeconds(pid);
  await work();
  return cpuSeconds(pid) - before;
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN;
}

function report(figure: string, details: string, value: number | undefined = NaN, bar: number): boolean {
  const isMet = value <= bar;
  console.log(`${isMet ? " " : "!"} ${figure} (${details}): ${value.toFixed(2)}, bar ${bar}`);
  return isMet;
}

async function ask(child: ChildProcess, request: ServerRequest): Promise<ServerAnswer> {
  const answered = new AbortController();
  const { signal } = answered;
  const exited = once(child, "exit", { signal }).then((): [ServerAnswer] => [{ error: "the API server has ended" }]);
  exited.catch(() => undefined);
  child.send(request);
  const [answer] = (await Promise.race([once(child, "message", { signal }), exited])) as [ServerAnswer];
  answered.abort();
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer;
}
