import { setTimeout as wait } from "node:timers/promises";
import { freePort, type IstiodProcess, startIstiod } from "@istiod/bench";
import type { Endpoint } from "@istiod/e2e";

/** Settings that all replicas of a revision share. */
export interface ReplicaSettings {
  readonly revision: string;
  /** File that names the API server. */
  readonly kubeconfig: string;
  /** Directory of the plugged-in CA. */
  readonly caDirectory: string;
}

/** Milliseconds that a replica has for its shutdown, and the grace period of the pod after which it is killed. */
const shutdownMs = 3_000;
const gracePeriodMs = 30_000;
const probeTimeoutMs = 2_000;
/** Probes without an answer after which a replica counts as not ready, as `failureThreshold`. */
const failureThreshold = 3;

/** A pod of istiod: a process that can be killed and started again on the address of the pod. */
export class Replica {
  /** Name of the pod, by which it takes part in leader elections. */
  readonly name: string;
  readonly address: string;
  readonly #settings: ReplicaSettings;
  #process: IstiodProcess | undefined;
  #isTerminating = false;
  #failedProbes = 0;
  #isReady = false;

  constructor(name: string, address: string, settings: ReplicaSettings) {
    this.name = name;
    this.address = address;
    this.#settings = settings;
  }

  get xds(): Endpoint {
    return { host: this.address, port: 15012 };
  }

  get webhooks(): Endpoint {
    return { host: this.address, port: 15017 };
  }

  /** Reports whether it is an endpoint of the Service: its probe succeeds, and its pod is not being deleted. */
  get isReady(): boolean {
    return this.#isReady && !this.#isTerminating;
  }

  /** Starts the process, and resolves when its first snapshot is served. */
  async start(): Promise<void> {
    const { revision, kubeconfig, caDirectory } = this.#settings;
    this.#process = await startIstiod({
      kubeconfig,
      ports: [await freePort(), await freePort()],
      flags: {
        grpcAddr: "",
        secureGRPCAddr: `${this.address}:15012`,
        httpsAddr: `${this.address}:15017`,
        shutdownDuration: `${shutdownMs}ms`,
        log_output_level: process.env["ISTIOD_LOG"] ?? "error",
      },
      env: {
        POD_NAME: this.name,
        REVISION: revision,
        ROOT_CA_DIR: caDirectory,
        ISTIO_MULTIROOT_MESH: "true",
      },
    });
    await this.probe();
  }

  /** Probes the readiness as a kubelet does. */
  async probe(): Promise<void> {
    const running = this.#process;
    if (running === undefined) return void (this.#isReady = false);
    try {
      const { status } = await fetch(`${running.http}/ready`, { signal: AbortSignal.timeout(probeTimeoutMs) });
      if (running !== this.#process) return;
      this.#failedProbes = 0;
      this.#isReady = status === 200;
    } catch (error) {
      if (running !== this.#process) return;
      const isLate = (error as Error).name === "TimeoutError";
      if (!isLate || ++this.#failedProbes >= failureThreshold) this.#isReady = false;
    }
  }

  /** Kills the process with SIGKILL. */
  async kill(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    await running?.kill();
    this.#isReady = false;
  }

  /** Deletes the pod: no new connections, SIGTERM, and SIGKILL after the grace period. */
  async stop(): Promise<void> {
    this.#isTerminating = true;
    const running = this.#process;
    if (running === undefined) return;
    if (isRunning(running.pid)) process.kill(running.pid, "SIGTERM");
    for (const end = performance.now() + gracePeriodMs; isRunning(running.pid) && performance.now() < end;)
      await wait(50);
    this.#process = undefined;
    await running.stop();
  }

  /** Returns the end of what the process has printed. */
  output(): string {
    return this.#process?.output() ?? "";
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
