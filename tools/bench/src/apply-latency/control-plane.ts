import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort, startIstiod } from "../server/istiod-process.js";

/** A control plane that reads the API server. */
export interface ControlPlane {
  readonly pid: number;
  /** Port of 127.0.0.1 of its xDS server, in plaintext. */
  readonly port: number;
  stop(): Promise<void>;
}

/** Options of both control planes. */
export interface ControlPlaneOptions {
  /** File of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** An existing folder. */
  readonly work: string;
  /** Value of PILOT_DEBOUNCE_AFTER, such as `100ms`. */
  readonly debounce: string;
}

/** Options of Istio's pilot-discovery. */
export interface OriginalOptions extends ControlPlaneOptions {
  /** Command line flags by name, over those of this module. Default: none. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Environment variables, over those of this module. Default: none. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Both leave Gateways and statuses alone, and configure a stock Envoy. */
const environment = {
  CLUSTER_ID: "Kubernetes",
  POD_NAMESPACE: "istio-system",
  PILOT_ENABLE_GATEWAY_API_STATUS: "false",
  PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER: "false",
  PILOT_ENABLE_GATEWAY_API_GATEWAYCLASS_CONTROLLER: "false",
  PILOT_ENABLE_METADATA_EXCHANGE: "false",
  PILOT_ENABLE_ALPN_FILTER: "false",
};

/** Writes the mesh configuration of both, without what only an Envoy with an agent has: certificates. */
async function meshConfiguration(work: string): Promise<string> {
  const file = join(work, "mesh.yaml");
  await writeFile(file, "enableAutoMtls: false\ndefaultProviders: {}\n");
  return file;
}

/** Starts the built istiod. */
export async function startOurs({ kubeconfig, work, debounce }: ControlPlaneOptions): Promise<ControlPlane> {
  const env = { ...environment, PILOT_DEBOUNCE_AFTER: debounce };
  const istiod = await startIstiod({ kubeconfig, env, flags: { meshConfig: await meshConfiguration(work) } });
  return { pid: istiod.pid, port: istiod.xds.port, stop: () => istiod.stop() };
}

const READY_MS = 120_000;

/** By default Istio ends streams beyond some tens a second, by the number of processors, so that clients come again. */
const withoutLimits = { PILOT_MAX_REQUESTS_PER_SECOND: "100000", PILOT_PUSH_THROTTLE: "1000" };

/**
 * Starts Istio's pilot-discovery.
 *
 * @throws Error with the end of its output if it exits or is not ready in time
 */
export async function startOriginal(
  binary: string,
  { kubeconfig, work, debounce, flags: given = {}, env: variables = {} }: OriginalOptions,
): Promise<ControlPlane> {
  const [port, http, monitoring] = [await freePort(), await freePort(), await freePort()];
  const meshConfig = await meshConfiguration(work);
  const flags = {
    kubeconfig,
    meshConfig,
    grpcAddr: `127.0.0.1:${port}`,
    httpAddr: `127.0.0.1:${http}`,
    monitoringAddr: `127.0.0.1:${monitoring}`,
    secureGRPCAddr: "",
    httpsAddr: "",
    ctrlz_port: "0",
    log_output_level: "default:error",
    ...given,
  };
  const args = ["discovery", ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`)];
  const env = { ...process.env, ...environment, ...withoutLimits, PILOT_DEBOUNCE_AFTER: debounce, ...variables };
  const child = spawn(binary, args, { cwd: work, env, stdio: ["ignore", "pipe", "pipe"] });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const atExit = (): void => void child.kill("SIGKILL");
  process.once("exit", atExit);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text: Buffer) => (output = (output + text.toString()).slice(-2000)));
  for (const until = performance.now() + READY_MS; ; await sleep(100)) {
    if (child.exitCode !== null) throw new Error(`pilot-discovery exited with ${child.exitCode}: ${output}`);
    if (performance.now() > until) throw new Error(`pilot-discovery was not ready after ${READY_MS} ms: ${output}`);
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
