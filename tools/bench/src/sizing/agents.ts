import { type ChildProcess, spawn } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { loadavg, networkInterfaces, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { findEnvoy } from "@istiod/envoy-binary";
import { Closers } from "@istiod/runtime";
import { writeTokens } from "../fleet/tokens.js";
import { writeObjects } from "../mesh/directory.js";
import { Mesh } from "../mesh/mesh.js";
import type { ProxyPlace } from "../mesh/proxies.js";
import { startIstiod } from "../server/istiod-process.js";
import { cpuSeconds, memory } from "../server/usage.js";

/** The cost of an agent and its Envoy with the configuration of a mesh that nothing scopes. */
export interface AgentCost {
  readonly services: number;
  /** Clusters that Envoy has. */
  readonly clusters: number;
  readonly agent: ProcessCost;
  readonly envoy: ProcessCost;
  readonly load: number;
}

interface ProcessCost {
  /** Resident bytes ten seconds after the agent was ready. */
  readonly rss: number;
  readonly peak: number;
  /** Part of it that no file has. */
  readonly anonymous: number;
  /** CPU seconds from the start of the process until then. */
  readonly cpuSeconds: number;
}

const READY_MS = 180_000;
const SETTLE_MS = 10_000;

/** Reports why no agent can be measured here; undefined if one can. */
export async function whyNoAgent(): Promise<string | undefined> {
  if ((await findEnvoy()) === undefined) return "there is no Envoy: npm run envoy:install";
  const others = Object.keys(networkInterfaces()).filter((name) => name !== "lo");
  if (others.length > 0)
    return `its Envoy listens on 15001 and 15006 of all addresses: run it in a network of its own, by unshare -rn sh -c 'ip link set lo up && …'`;
  return undefined;
}

/**
 * Starts an istiod with a mesh of some services, and an agent with its Envoy for one of its Pods.
 *
 * @throws Error with the end of the agent's output if it is not ready in time
 */
export async function measureAgent(services: number): Promise<AgentCost> {
  const closers = new Closers();
  return closers.closeOnError(async () => {
    const root = await mkdtemp(join(tmpdir(), "istiod-agent-cost-"));
    closers.defer(() => rm(root, { recursive: true, force: true }));
    const mesh = new Mesh({ services, namespaces: Math.ceil(services / 50), proxies: 1, gatewayRoutes: 0, seed: 1 });
    const [place] = mesh.proxies();
    if (place === undefined) throw new Error("a mesh without proxies");
    const directory = join(root, "mesh");
    await writeObjects(directory, mesh.objects());
    const tokens = await writeTokens(join(root, "tokens"), [place]);
    const caDir = join(root, "ca");
    const istiod = await startIstiod({ directory, tlsTokens: tokens.directory, caDir });
    closers.defer(() => istiod.stop());
    const files = join(root, "agent", "var/run/secrets");
    await mkdir(join(files, "istio"), { recursive: true });
    await mkdir(join(files, "tokens"), { recursive: true });
    await copyFile(join(caDir, "ca-cert.pem"), join(files, "istio/root-cert.pem"));
    await writeFile(join(files, "tokens/istio-token"), tokens.of(place));
    const child = await startAgent(join(root, "agent"), place, istiod.xds.port);
    closers.defer(() => stop(child));
    await untilReady(child);
    await wait(SETTLE_MS);
    const envoy = await childOf(child.pid ?? 0);
    const cost = {
      services,
      clusters: await clusterCount(),
      agent: costOf(child.pid ?? 0),
      envoy: costOf(envoy),
      load: loadavg()[0] ?? 0,
    };
    await closers.close();
    return cost;
  });
}

const costOf = (pid: number): ProcessCost => ({ ...memory(pid), cpuSeconds: cpuSeconds(pid) });

async function startAgent(directory: string, place: ProxyPlace, port: number): Promise<ChildProcess> {
  const command = join(
    dirname(createRequire(import.meta.url).resolve("@istiod/pilot-agent/package.json")),
    "bin/pilot-agent.js",
  );
  return spawn(process.execPath, [command, "proxy", "sidecar", "--directory", directory], {
    env: {
      ...process.env,
      POD_NAME: place.name,
      POD_NAMESPACE: place.namespace,
      SERVICE_ACCOUNT: place.serviceAccount,
      INSTANCE_IP: place.ip,
      ENVOY_PATH: (await findEnvoy()) ?? "",
      ISTIOD_SAN: "istiod.istio-system.svc",
      PROXY_CONFIG: JSON.stringify({ discoveryAddress: `127.0.0.1:${port}`, concurrency: 2 }),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function untilReady(child: ChildProcess): Promise<void> {
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (text: Buffer) => (output = (output + text.toString()).slice(-4000)));
  for (const until = performance.now() + READY_MS; ; await wait(100)) {
    const answer = await fetch("http://127.0.0.1:15021/healthz/ready").catch(() => undefined);
    if (answer?.ok === true) return;
    if (child.exitCode !== null || performance.now() > until) throw new Error(`the agent is not ready:\n${output}`);
  }
}

async function childOf(pid: number): Promise<number> {
  const [first = ""] = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).split(" ");
  return Number(first);
}

async function clusterCount(): Promise<number> {
  const answer = await fetch("http://127.0.0.1:15000/stats?filter=^cluster_manager.active_clusters$");
  return Number((await answer.text()).split(":")[1]);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const kill = setTimeout(() => child.kill("SIGKILL"), 8000);
  await exit;
  clearTimeout(kill);
}
