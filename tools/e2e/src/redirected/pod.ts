import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "../eventually.js";
import type { IstiodPlaces } from "../istiod/istiod.js";
import { ownEnvironment, prepareDirectory, proxyEnvironment } from "../mesh/proxy.js";
import type { Workload } from "../mesh/workload.js";
import type { PodAnswer, PodOrder, PodSettings } from "./pod-orders.js";

/** The group of every agent and its Envoy. */
export const proxyGroup = 1337;

type Order = PodOrder extends infer O ? (O extends PodOrder ? Omit<O, "id"> : never) : never;

/** The application process of a pod, which takes orders. */
export interface Pod {
  order(order: Order): Promise<PodAnswer>;
  kill(): Promise<void>;
}

const program = fileURLToPath(new URL("../../dist/redirected/pod-process.js", import.meta.url));
const agent = join(
  dirname(createRequire(import.meta.url).resolve("@istiod/pilot-agent/package.json")),
  "bin/pilot-agent.js",
);

/** Returns the reason why pods cannot be started; undefined if they can. */
export function whyNoPods(): string | undefined {
  const built = existsSync(program) && existsSync(join(dirname(agent), "../bundle/main.js"));
  return built ? undefined : "pods and agents are not built: npm run build";
}

/** Starts the applications of a pod. @param inside command prefix that enters the network of the pod */
export async function startPod(inside: readonly string[], settings: PodSettings): Promise<Pod> {
  const child = start(inside, [program, JSON.stringify(settings)], {
    env: { PATH: process.env["PATH"] },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const waiting = new Map<number, (answer: PodAnswer) => void>();
  let orders = 0;
  await new Promise<void>((resolve, reject) => {
    child.process.once("error", reject);
    child.process.once("exit", (code) => reject(new Error(`the application of ${settings.name} ended with ${code}`)));
    child.process.on("message", (message: { ready?: true; id?: number; answer?: PodAnswer }) => {
      if (message.ready) return resolve();
      waiting.get(message.id ?? -1)?.(message.answer ?? {});
      waiting.delete(message.id ?? -1);
    });
  });
  return {
    order: (order) =>
      new Promise((resolve) => {
        const id = orders++;
        waiting.set(id, resolve);
        child.process.send({ ...order, id });
      }),
    kill: child.kill,
  };
}

/** Starts the agent of a pod with its Envoy. Resolves when Envoy is ready, with a function that stops both. */
export async function startPodProxy(
  inside: readonly string[],
  of: Workload,
  istiod: IstiodPlaces,
  envoy: string,
): Promise<() => Promise<void>> {
  const directory = await prepareDirectory(of, istiod);
  const args = [
    agent,
    "proxy",
    "sidecar",
    "--directory",
    directory,
    "--proxyLogLevel",
    process.env["E2E_ENVOY_LOG"] ?? "error",
    "--log_output_level",
    process.env["E2E_AGENT_LOG"] ?? "error",
  ];
  const child = start(inside, args, {
    env: { ...proxyEnvironment(of, istiod, envoy), ...ownEnvironment(of) },
    stdio: ["ignore", "ignore", "inherit"],
    gid: proxyGroup,
  });
  try {
    await eventually(
      `the proxy of ${of.name} is ready`,
      async () => {
        if (child.process.exitCode !== null) throw new Error(`the agent ended with ${child.process.exitCode}`);
        return (await fetch(`http://${of.address}:15021/healthz/ready`)).ok;
      },
      60_000,
      50,
    );
  } catch (error) {
    await child.kill();
    throw error;
  }
  return child.kill;
}

interface Started {
  readonly process: ChildProcess;
  kill(): Promise<void>;
}

function start(inside: readonly string[], args: readonly string[], options: SpawnOptions): Started {
  const [command = process.execPath, ...words] = [...inside, process.execPath, ...args];
  const child = spawn(command, words, options);
  const exited = new Promise<void>((resolve) => void child.once("exit", () => resolve()));
  const atExit = (): void => void child.kill("SIGKILL");
  process.once("exit", atExit);
  return {
    process: child,
    kill: async () => {
      process.off("exit", atExit);
      if (child.exitCode !== null || child.signalCode !== null) return;
      // On SIGTERM the agent stops its Envoy, which would survive a SIGKILL of the agent.
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await exited;
      clearTimeout(late);
    },
  };
}
