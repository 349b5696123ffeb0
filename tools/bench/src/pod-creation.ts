import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { realServer } from "./cluster-costs/real-server.js";
import { exposedWebhook, injectedCluster, injectionWebhook, system } from "./injection/injected-cluster.js";
import { percentiles } from "./injection/percentiles.js";
import { PodCreator, type PodKind, podKinds } from "./injection/pod-creator.js";
import { type Figure, print } from "./measure.js";
import { positive, runCommand } from "./options.js";
import { freePort, type IstiodProcess, startIstiod } from "./server/istiod-process.js";
import { cpuSeconds } from "./server/usage.js";

const usage = `Usage: pod-creation [--bytes 8192] [--pods 500] [--callers 8] [--rounds 2]

Creates Pods of --bytes bytes of JSON at the API server of tools/cluster, in turns in a namespace without injection and in
one whose Pods the webhook of an istiod injects. In each round and namespace --pods Pods by one caller, then as many by
--callers callers. Reports milliseconds until a Pod is created, Pods a second, and istiod's CPU time for each injected one,
of all rounds after the first one, which compiles code.

Needs the API server: npm run cluster:install.`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    bytes: { type: "string", default: "8192" },
    pods: { type: "string", default: "500" },
    callers: { type: "string", default: "8" },
    rounds: { type: "string", default: "2" },
  },
});

interface Load {
  /** Pods in each round and namespace, by one caller and again by all. */
  readonly pods: number;
  readonly callers: number;
  readonly rounds: number;
}

async function measure(): Promise<boolean> {
  const [bytes, pods, callers, rounds] = (["bytes", "pods", "callers", "rounds"] as const).map((flag) =>
    positive(flag, values[flag]),
  ) as [number, number, number, number];
  const work = await mkdtemp(join(tmpdir(), "istiod-pod-creation-"));
  const server = await realServer();
  const client = createApiClient(await parseKubeconfig(server.kubeconfig), { qps: 10_000, burst: 10_000 });
  try {
    await server.create(await injectedCluster());
    const kubeconfig = join(work, "kubeconfig");
    await writeFile(kubeconfig, server.kubeconfig, { mode: 0o600 });
    const port = await freePort();
    const istiod = await startIstiod({
      kubeconfig,
      flags: { namespace: system, secureGRPCAddr: "127.0.0.1:0", httpsAddr: `127.0.0.1:${port}` },
    });
    try {
      await server.create([...exposedWebhook(port), await injectionWebhook(client)]);
      const creator = new PodCreator(client, bytes);
      await creator.untilInjected();
      print(`Pods of ${bytes} bytes`, await compare(creator, istiod, { pods, callers, rounds }));
    } finally {
      await istiod.stop();
    }
    return true;
  } finally {
    client.close();
    await server.stop();
    await rm(work, { recursive: true, force: true });
  }
}

async function compare(creator: PodCreator, istiod: IstiodProcess, load: Load): Promise<readonly Figure[]> {
  const { pods, rounds } = load;
  const measured = { plain: [] as Creations[], injected: [] as Creations[] };
  for (let round = 0; round <= rounds; round++) {
    for (const kind of podKinds) {
      const creations = await createPods(creator, istiod, kind, load);
      if (round > 0) measured[kind].push(creations);
    }
  }
  return [
    ...podKinds.flatMap((kind) => figures(kind, measured[kind], load)),
    {
      what: "istiod's CPU",
      value: (1000 * sum(measured.injected.map(({ cpu }) => cpu))) / (2 * pods * rounds),
      unit: "ms an injected Pod",
    },
    { what: "load of the machine", value: loadavg()[0] ?? NaN, unit: `on ${availableParallelism()} processors` },
  ];
}

interface Creations {
  /** Milliseconds of each Pod, by one caller. */
  readonly took: readonly number[];
  /** Seconds for as many Pods by all callers. */
  readonly together: number;
  /** CPU seconds of istiod for all of these. */
  readonly cpu: number;
}

function figures(kind: PodKind, rounds: readonly Creations[], { pods, callers }: Load): readonly Figure[] {
  const together = sum(rounds.map(({ together: seconds }) => seconds));
  return [
    { what: `${kind}, ${callers} callers`, value: (pods * rounds.length) / together, unit: "Pods a second" },
    { what: `${kind}, one caller`, value: pods * rounds.length, unit: "Pods" },
    ...percentiles(rounds.flatMap(({ took }) => took)),
  ];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

async function createPods(
  creator: PodCreator,
  { pid }: IstiodProcess,
  kind: PodKind,
  { pods, callers }: Load,
): Promise<Creations> {
  const cpuBefore = cpuSeconds(pid);
  const took: number[] = [];
  for (let at = 0; at < pods; at++) {
    const before = performance.now();
    await creator.create(kind);
    took.push(performance.now() - before);
  }
  const before = performance.now();
  let left = pods;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (left-- > 0) await creator.create(kind);
    }),
  );
  const together = (performance.now() - before) / 1000;
  const cpu = cpuSeconds(pid) - cpuBefore;
  await creator.deleteAll(kind);
  return { took, together, cpu };
}

if (values.help === true) console.log(usage);
else await runCommand("pod-creation", measure);
