import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startApiServer } from "@istiod/kubernetes/testing";
import { injectionConfiguration } from "./injection/configuration.js";
import { selfSignedRoot } from "./injection/injected-cluster.js";
import { percentiles } from "./injection/percentiles.js";
import { admissionReview, podOfSize } from "./injection/pods.js";
import { type Figure, print } from "./measure.js";
import { positive, runCommand } from "./options.js";
import { freePort, type IstiodProcess, startIstiod } from "./server/istiod-process.js";
import { cpuSeconds } from "./server/usage.js";

const usage = `Usage: injection [--bytes 8192] [--seconds 20] [--connections 8] [--rate 25] [--profile DIRECTORY]

Measures the injection webhook of an istiod in a separate process, over HTTPS, with the templates and values of the chart: Pods of --bytes
bytes of JSON, each with another name. First --connections callers that send the next Pod at each answer: Pods a second and CPU time for each. Then --rate
Pods a second, whether the earlier ones are answered or not: the time from a Pod's turn to its answer. Each part takes --seconds after a warm-up.

--profile writes a CPU profile of istiod, as .cpuprofile; istiod then runs from its modules instead of the bundle.`;

const namespace = "istio-system";
const warmUpPods = 300;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    bytes: { type: "string", default: "8192" },
    seconds: { type: "string", default: "20" },
    connections: { type: "string", default: "8" },
    rate: { type: "string", default: "25" },
    profile: { type: "string" },
  },
});
async function measure(): Promise<boolean> {
  const [bytes, seconds, connections, rate] = (["bytes", "seconds", "connections", "rate"] as const).map((flag) =>
    positive(flag, values[flag]),
  ) as [number, number, number, number];
  const work = await mkdtemp(join(tmpdir(), "istiod-injection-"));
  const server = await startApiServer({ types: [], namespaces: [namespace], authorization: "allow-all" });
  try {
    for (const map of await injectionConfiguration(namespace)) await server.objects.create(map);
    const kubeconfig = join(work, "kubeconfig");
    await writeFile(kubeconfig, server.kubeconfig.yaml, { mode: 0o600 });
    const port = await freePort();
    const istiod = await startIstiod({
      kubeconfig,
      flags: { namespace, secureGRPCAddr: "127.0.0.1:0", httpsAddr: `127.0.0.1:${port}` },
      ...(values.profile !== undefined && { execArgv: ["--cpu-prof", `--cpu-prof-dir=${values.profile}`] }),
    });
    const webhook = new Webhook(port, selfSignedRoot(server), bytes);
    try {
      print(`Pods of ${bytes} bytes, patches of ${await webhook.patchBytes()} bytes`, [
        ...(await throughput(istiod, webhook, { seconds, connections })),
        ...(await latency(webhook, { seconds, rate })),
        { what: "load of the machine", value: loadavg()[0] ?? NaN, unit: `on ${availableParallelism()} processors` },
      ]);
    } finally {
      webhook.close();
      await istiod.stop();
    }
    return true;
  } finally {
    await server.stop();
    await rm(work, { recursive: true, force: true });
  }
}

interface Load {
  readonly seconds: number;
}

/** Sends Pods over some connections, one after the other on each. */
async function throughput(
  { pid }: IstiodProcess,
  webhook: Webhook,
  { seconds, connections }: Load & { readonly connections: number },
): Promise<readonly Figure[]> {
  const each = (work: () => Promise<void>): Promise<unknown> => Promise.all(Array.from({ length: connections }, work));
  const [first] = await webhook.times(1);
  await each(async () => void (await webhook.times(Math.ceil(warmUpPods / connections))));
  const took: number[] = [];
  const startedAt = performance.now();
  const cpuBefore = cpuSeconds(pid);
  const end = startedAt + seconds * 1000;
  await each(async () => {
    while (performance.now() < end) took.push(...(await webhook.times(1)));
  });
  const cpu = cpuSeconds(pid) - cpuBefore;
  const elapsed = (performance.now() - startedAt) / 1000;
  return [
    { what: "first Pod after startup", value: first ?? NaN, unit: "ms" },
    { what: `${connections} callers`, value: took.length / elapsed, unit: "Pods a second" },
    { what: "  CPU", value: (1000 * cpu) / took.length, unit: "ms a Pod" },
    ...percentiles(took),
  ];
}

/** Sends Pods at a rate. Times count from the moment at which a Pod is due. */
async function latency(
  webhook: Webhook,
  { seconds, rate }: Load & { readonly rate: number },
): Promise<readonly Figure[]> {
  const total = Math.round(rate * seconds);
  const startedAt = performance.now();
  const calls: Promise<number>[] = [];
  for (let at = 0; at < total; at++) {
    const due = startedAt + (1000 * at) / rate;
    const ms = due - performance.now();
    if (ms > 0) await wait(ms);
    calls.push(webhook.inject().then(() => performance.now() - due));
  }
  return [{ what: "at a rate", value: rate, unit: "Pods a second" }, ...percentiles(await Promise.all(calls))];
}

/** The injection webhook of an istiod, as an API server calls it. */
class Webhook {
  readonly #port: number;
  readonly #agent: Agent;
  readonly #bytes: number;
  #sent = 0;

  constructor(port: number, ca: string, bytes: number) {
    this.#port = port;
    this.#bytes = bytes;
    this.#agent = new Agent({ keepAlive: true, ca, servername: `istiod.${namespace}.svc` });
  }

  /** Injects Pods one after the other. Returns the milliseconds of each. */
  async times(pods: number): Promise<readonly number[]> {
    const took: number[] = [];
    for (let at = 0; at < pods; at++) {
      const before = performance.now();
      await this.inject();
      took.push(performance.now() - before);
    }
    return took;
  }

  async patchBytes(): Promise<number> {
    return (await this.inject()).length;
  }

  /** Returns the JSON patch. @throws Error if the Pod is not injected */
  async inject(): Promise<string> {
    const at = this.#sent++;
    const { status, text } = await this.#post(JSON.stringify(admissionReview(podOfSize(this.#bytes, at), at)));
    const { response } = (status === 200 ? JSON.parse(text) : {}) as {
      readonly response?: { readonly patch?: string };
    };
    if (response?.patch === undefined) throw new Error(`the Pod was not injected: ${status} ${text}`);
    return Buffer.from(response.patch, "base64").toString();
  }

  close(): void {
    this.#agent.destroy();
  }

  #post(body: string): Promise<{ readonly status: number; readonly text: string }> {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const options = { agent: this.#agent, host: "127.0.0.1", port: this.#port, method: "POST", headers };
    return new Promise((resolve, reject) => {
      const call = request({ ...options, path: "/inject?timeout=10s" }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
        response.on("error", reject);
      });
      call.on("error", reject).end(body);
    });
  }
}

if (values.help === true) console.log(usage);
else await runCommand("injection", measure);
