import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { apply, change, Mesh, startIstiod, writeObjects } from "@istiod/bench";
import { Closers } from "@istiod/runtime";
import { type AgentProcess, startAgent } from "./agent-process.js";
import { resolves } from "./dns-query.js";
import { HonestEnvoy } from "./honest-envoy.js";
import { isRunning, strangerAddress } from "./istiod-target.js";
import type { Target } from "./target.js";

/** The parts of a running agent that attacks use. */
export interface AttackedAgent extends Pick<AgentProcess, "dnsPort" | "statusPort" | "xds" | "sds"> {
  /** Loopback address of the attackers. */
  readonly attackerAddress: string;
}

/** A running agent with an honest Envoy and an istiod. */
export interface AgentTarget extends AttackedAgent, Target {}

export interface AgentTargetOptions {
  /** Limit of V8's old generation in MiB. Default 256. */
  readonly heapMiB?: number;
  readonly attackerAddress?: string;
}

const updateMs = 30_000;
const nodeId = "sidecar~127.0.0.1~attacked.ns-0~ns-0.svc.cluster.local";

/** Starts an istiod with a mesh of 20 services, and an agent whose name server and application never answer. */
export async function startAgentTarget(options: AgentTargetOptions = {}): Promise<AgentTarget> {
  const { heapMiB = 256, attackerAddress = strangerAddress } = options;
  const closers = new Closers();
  return closers.closeOnError(async () => {
    const root = await mkdtemp(join(tmpdir(), "aa-"));
    closers.defer(() => rm(root, { recursive: true, force: true }));
    const mesh = new Mesh({ services: 20, namespaces: 1, proxies: 1, gatewayRoutes: 0, seed: 1 });
    const directory = join(root, "mesh");
    await writeObjects(directory, mesh.objects());
    const istiod = await startIstiod({ directory });
    closers.defer(() => istiod.stop());
    const agent = await startAgent({
      directory: join(root, "a"),
      istiodPort: istiod.xds.port,
      resolverPort: await silentResolver(closers),
      applicationPort: await silentApplication(closers),
      heapMiB,
    });
    closers.defer(() => stop(agent));
    const status = `http://127.0.0.1:${agent.statusPort}`;
    await until(() => existsSync(agent.xds) && existsSync(agent.sds), agent, "listens on its sockets");
    const envoy = new HonestEnvoy(agent.xds, nodeId);
    closers.defer(() => envoy.close());
    let name: string | undefined;
    await until(async () => (name = await firstName(status)) !== undefined, agent, "has names of the mesh");
    const resolved = name ?? "";
    let edits = 0;
    return {
      ...agent,
      attackerAddress,
      pid: agent.child.pid,
      readyUrl: `${status}/healthz/ready`,
      get streamsLost() {
        return envoy.isClosed ? 1 : 0;
      },
      isAlive: () => isRunning(agent.child.pid) && agent.child.exitCode === null,
      join() {
        const startedAt = performance.now();
        const joined = resolves(agent.dnsPort, resolved, updateMs).then((is) =>
          is ? performance.now() - startedAt : undefined,
        );
        return { waitMs: () => joined };
      },
      async update() {
        const before = envoy.clusterResponses;
        await apply(directory, change(mesh, "rule", edits++));
        const end = performance.now() + updateMs;
        while (envoy.clusterResponses === before && performance.now() < end) await wait(20);
        return envoy.clusterResponses > before && (await resolves(agent.dnsPort, resolved, updateMs));
      },
      close: () => closers.close(),
    };
  });
}

async function silentResolver(closers: Closers): Promise<number> {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  closers.defer(() => socket.close());
  return socket.address().port;
}

async function silentApplication(closers: Closers): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined).on("close", () => sockets.delete(socket)));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.defer(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

async function stop({ child }: AgentProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** Returns a name of the agent's name table; undefined while it has none. */
async function firstName(status: string): Promise<string | undefined> {
  const response = await fetch(`${status}/debug/ndsz`).catch(() => undefined);
  if (response?.ok !== true) return undefined;
  const { table = {} } = (await response.json()) as { table?: Readonly<Record<string, unknown>> };
  return Object.keys(table)[0];
}

async function until(condition: () => boolean | Promise<boolean>, agent: AgentProcess, what: string): Promise<void> {
  for (const end = performance.now() + updateMs; !(await condition()); await wait(50))
    if (performance.now() > end) throw new Error(`timeout until the agent ${what}:\n${agent.output()}`);
}
