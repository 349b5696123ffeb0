import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "@istiod/bench";

/** Milliseconds within which it must be ready. */
const readyMs = 120_000;

export interface OriginalOptions {
  /** Directory of objects in YAML. */
  readonly config: string;
  /** Directory with the mesh configuration `mesh.yaml`. */
  readonly work: string;
  /** Of an API server, without which it does not start. */
  readonly kubeconfig: string;
  /** Port of 127.0.0.1 of its xDS server, in plaintext. */
  readonly port: number;
}

/**
 * Starts Istio's pilot-discovery with a directory of objects.
 *
 * @throws Error with the end of its output if it exits or is not ready in time
 */
export async function startOriginal(binary: string, { config, work, kubeconfig, port }: OriginalOptions) {
  const [http, monitoring] = [await freePort(), await freePort()];
  const flags = {
    configDir: config,
    kubeconfig,
    meshConfig: join(work, "mesh.yaml"),
    grpcAddr: `127.0.0.1:${port}`,
    httpAddr: `127.0.0.1:${http}`,
    monitoringAddr: `127.0.0.1:${monitoring}`,
    secureGRPCAddr: "",
    httpsAddr: "",
    ctrlz_port: "0",
    log_output_level: "default:error",
  };
  const args = ["discovery", ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`)];
  const env = { ...process.env, CLUSTER_ID: "Kubernetes", POD_NAMESPACE: "istio-system" };
  const child = spawn(binary, args, { cwd: work, env, stdio: ["ignore", "pipe", "pipe"] });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const atExit = (): void => void child.kill("SIGKILL");
  process.once("exit", atExit);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text: Buffer) => (output = (output + text.toString()).slice(-2000)));
  for (const until = performance.now() + readyMs; ; await sleep(100)) {
    if (child.exitCode !== null) throw new Error(`pilot-discovery exited with ${child.exitCode}: ${output}`);
    if (performance.now() > until) throw new Error(`pilot-discovery was not ready after ${readyMs} ms: ${output}`);
    const answer = await fetch(`http://127.0.0.1:${http}/ready`).catch(() => undefined);
    if (answer?.ok === true) break;
  }
  return {
    pid: child.pid ?? 0,
    port,
    stop: async () => {
      process.off("exit", atExit);
      child.kill("SIGKILL");
      await exited;
    },
  };
}
