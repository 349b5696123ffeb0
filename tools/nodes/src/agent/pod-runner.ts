import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Container, EphemeralContainer, Pod, PodStatus } from "../kube/objects.js";
import type { Namespaces } from "../network/commands.js";
import { ContainerRunner, type Launch } from "./container-runner.js";
import { launchOf, type LaunchContext, unsupportedFields } from "./pod-launch.js";
import { isSidecar, podStatus } from "./pod-status.js";

/** Services of a node for one of its pods. */
export interface PodEnvironment {
  readonly hostIP: string;
  readonly directory: string;
  readonly backoffMs: number;
  /** Creates the network namespace, the volumes and the files of names. Called until it succeeds. */
  readonly prepare: () => Promise<{
    readonly podIP: string;
    readonly namespaces: Namespaces;
    readonly launch: LaunchContext;
  }>;
  /** Returns the pod with its current metadata. */
  readonly pod: () => Pod;
  /** Writes the status. */
  readonly write: (status: PodStatus) => void;
}

/** The containers of a pod from its start to its end. */
export class PodRunner {
  readonly #environment: PodEnvironment;
  readonly #init: ContainerRunner[] = [];
  readonly #main: ContainerRunner[] = [];
  readonly #ephemeral: ContainerRunner[] = [];
  readonly #startTime = new Date().toISOString();
  readonly #stopping = new AbortController();
  #podIP: string | undefined;
  #namespaces: Namespaces | undefined;
  #launch: LaunchContext | undefined;
  #isInitialized = false;
  #finished: "Succeeded" | "Failed" | undefined;
  #problem: { readonly reason: string; readonly message: string } | undefined;
  #deadline = Infinity;
  /** Resolves when all containers have ended and the network is gone. */
  readonly ended: Promise<void>;

  constructor(environment: PodEnvironment) {
    this.#environment = environment;
    const { spec } = environment.pod();
    for (const container of spec.initContainers ?? []) this.#init.push(this.#runner(container, true));
    for (const container of spec.containers) this.#main.push(this.#runner(container, false));
    this.ended = this.#run();
  }

  /** Stops all containers within a grace period in milliseconds. A later call may only shorten it. */
  stop(graceMs: number): Promise<void> {
    const deadline = Date.now() + graceMs;
    const isShorter = deadline < this.#deadline;
    this.#deadline = Math.min(this.#deadline, deadline);
    const isFirst = !this.#stopping.signal.aborted;
    this.#stopping.abort();
    if (!isFirst && isShorter) for (const runner of this.#all) void runner.stop(graceMs);
    return this.ended;
  }

  /** @throws Error if there is no such container */
  runnerOf(container: string): ContainerRunner {
    const runner = this.#all.find(({ name }) => name === container);
    if (!runner) throw new Error(`there is no container ${container}`);
    return runner;
  }

  /** Starts ephemeral containers that were added to the pod, once its network is there. */
  startEphemeral(): void {
    if (!this.#launch || this.#isStopping) return;
    for (const container of this.#environment.pod().spec.ephemeralContainers ?? []) {
      if (this.#ephemeral.some(({ name }) => name === container.name)) continue;
      const runner = this.#ephemeralRunner(container);
      this.#ephemeral.push(runner);
      void runner.start();
    }
  }

  /**
   * Returns the start of commands in the pod's network.
   *
   * @throws Error if there is none yet, or no more
   */
  get enter(): readonly string[] {
    if (!this.#namespaces || this.#finished) throw new Error("the pod has no network");
    return this.#namespaces.enter;
  }

  /** Reports whether a container runs, and was started a number of times before. */
  isRunning(container: string, attempt: number): boolean {
    return this.#all.some(({ name, restarts, isRunning }) => name === container && restarts === attempt && isRunning);
  }

  /** Writes the status again, for example because conditions of others have changed. */
  report(): void {
    const { pod, hostIP, write } = this.#environment;
    const progress = {
      hostIP,
      podIP: this.#podIP,
      startTime: this.#startTime,
      init: this.#init.map(({ status }) => status),
      containers: this.#main.map(({ status }) => status),
      ephemeral: this.#ephemeral.map(({ status }) => status),
      isInitialized: this.#isInitialized,
      ...(this.#finished && { finished: this.#finished }),
      ...this.#problem,
    };
    write(podStatus(pod(), progress, new Date().toISOString()));
  }

  get #all(): ContainerRunner[] {
    return [...this.#init, ...this.#main, ...this.#ephemeral];
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  get #sidecars(): ContainerRunner[] {
    return this.#init.filter(({ name }) => isSidecar(this.#environment.pod(), name));
  }

  #runner(container: Container, isInit: boolean): ContainerRunner {
    const { directory, backoffMs, pod } = this.#environment;
    const sidecar = isInit && container.restartPolicy === "Always";
    const policy = pod().spec.restartPolicy ?? "Always";
    const shouldRestart = (exitCode: number): boolean => {
      if (sidecar) return true;
      if (isInit) return exitCode !== 0 && policy !== "Never";
      return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
    };
    return new ContainerRunner({
      container,
      podIP: () => this.#podIP ?? "",
      directory: join(directory, "containers", container.name),
      prepare: (own) => this.#prepare(own),
      shouldRestart,
      backoffMs,
      changed: () => this.report(),
    });
  }

  /** An ephemeral container is never started again, and the pod does not wait for its end. */
  #ephemeralRunner(container: EphemeralContainer): ContainerRunner {
    const { directory, backoffMs } = this.#environment;
    const { targetContainerName: target } = container;
    const processesOf = async (): Promise<number | undefined> =>
      target ? await this.runnerOf(target).process.pid() : undefined;
    return new ContainerRunner({
      container,
      podIP: () => this.#podIP ?? "",
      directory: join(directory, "containers", container.name),
      prepare: async (own) => ({ ...(await this.#prepare(own)), processesOf: await processesOf() }),
      shouldRestart: () => false,
      backoffMs,
      changed: () => this.report(),
    });
  }

  async #prepare(container: Container): Promise<Launch> {
    if (!this.#launch) throw new Error("the pod has no network");
    return await launchOf(this.#environment.pod(), container, this.#launch);
  }

  async #run(): Promise<void> {
    const stopped = new Promise<void>((resolve) => this.#stopping.signal.addEventListener("abort", () => resolve()));
    try {
      const unsupported = unsupportedFields(this.#environment.pod());
      if (unsupported.length > 0) return this.#reject(`unsupported fields: ${unsupported.join(", ")}`);
      await this.#start(stopped);
      const hasFailed = (await Promise.race([this.#runToEnd(), stopped])) === false;
      await this.#stopAll();
      const codes = await Promise.all(this.#main.map(({ done }) => done));
      this.#finished = hasFailed || codes.some((code) => code !== 0) ? "Failed" : "Succeeded";
      this.report();
    } finally {
      await this.#namespaces?.close();
    }
  }

  #reject(message: string): void {
    this.#problem = { reason: "UnsupportedPod", message };
    this.#finished = "Failed";
    this.report();
  }

  /** Creates the network and the volumes. */
  async #start(stopped: Promise<void>): Promise<void> {
    await mkdir(this.#environment.directory, { recursive: true });
    this.report();
    while (!this.#isStopping) {
      try {
        const { podIP, namespaces, launch } = await this.#environment.prepare();
        this.#podIP = podIP;
        this.#namespaces = namespaces;
        this.#launch = launch;
        this.#problem = undefined;
        this.startEphemeral();
        return;
      } catch (error) {
        this.#problem = { reason: "ContainerCreating", message: (error as Error).message };
        this.report();
        await Promise.race([new Promise((resolve) => setTimeout(resolve, 500)), stopped]);
      }
    }
  }

  /** Runs init containers and then starts the others, in order. Returns false if an init container failed for good. */
  async #runToEnd(): Promise<boolean> {
    for (const runner of this.#init) {
      if (this.#isStopping) return true;
      const done = runner.start();
      if (isSidecar(this.#environment.pod(), runner.name)) await runner.started();
      else if ((await done) !== 0) return false;
    }
    if (this.#isStopping) return true;
    this.#isInitialized = true;
    const running: Promise<number>[] = [];
    for (const runner of this.#main) {
      if (this.#isStopping) break;
      running.push(runner.start());
      // As with the kubelet, a container waits for the hooks of those before it.
      await runner.hookEnded();
    }
    await Promise.all(running);
    return true;
  }

  /** Stops what runs: first the main containers, then sidecars in reverse order. */
  async #stopAll(): Promise<void> {
    const { terminationGracePeriodSeconds = 30 } = this.#environment.pod().spec;
    if (this.#deadline === Infinity) this.#deadline = Date.now() + terminationGracePeriodSeconds * 1000;
    const left = (): number => Math.max(this.#deadline - Date.now(), 0);
    const sidecars = this.#sidecars;
    const others = this.#all.filter((runner) => !sidecars.includes(runner));
    this.#stopping.abort();
    await Promise.all(others.map((runner) => runner.stop(left())));
    for (const runner of sidecars.reverse()) await runner.stop(left());
  }
}
