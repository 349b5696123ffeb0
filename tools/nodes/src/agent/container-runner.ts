import { once } from "node:events";
import { mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container, ContainerState, ContainerStatus } from "../kube/objects.js";
import { type ActionTarget, execute } from "./actions.js";
import { logFile, recordLogTimes } from "./container-logs.js";
import { type ContainerProcess, type InsideOptions, launchContainer, type LaunchOptions } from "./launch.js";
import { repeatProbe } from "./probe-loop.js";

export type Launch = Omit<LaunchOptions, "output" | "scratch">;

export interface RunnerOptions {
  readonly container: Container;
  readonly podIP: () => string;
  /** Folder of the container's logs and of its file system. */
  readonly directory: string;
  /** Returns what to start. @throws Error that is shown as the reason to wait */
  readonly prepare: (container: Container) => Promise<Launch>;
  /** Reports whether the container is started again after an exit code. */
  readonly shouldRestart: (exitCode: number) => boolean;
  /** Milliseconds before the second restart, doubled for each further one. */
  readonly backoffMs: number;
  readonly changed: () => void;
}

const MAX_BACKOFF = 300_000;
/** Milliseconds that a container must run for its next restart to be the first again. */
const STABLE = 600_000;
const PREPARE_INTERVAL = 1000;
const HOOK_TIMEOUT = 60_000;
const MAX_MESSAGE_BYTES = 4096;

/** One container of a pod with its probes, hooks and restarts, until it ends for good or is stopped. */
export class ContainerRunner {
  readonly #options: RunnerOptions;
  readonly #stopping = new AbortController();
  #process: ContainerProcess | undefined;
  #state: ContainerState = { waiting: { reason: "PodInitializing" } };
  #lastState: ContainerState = {};
  #restarts = 0;
  #isStarted = false;
  #isReady = false;
  #id = "";
  readonly #startedListeners: (() => void)[] = [];
  readonly #hookListeners: (() => void)[] = [];
  /** Resolves with the last exit code when the container is not started again. */
  done: Promise<number> | undefined;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.container.name;
  }

  get restarts(): number {
    return this.#restarts;
  }

  get isRunning(): boolean {
    return this.#process !== undefined;
  }

  get hasInputOnce(): boolean {
    return this.#options.container.stdinOnce ?? false;
  }

  get status(): ContainerStatus {
    const { name, image } = this.#options.container;
    return {
      name,
      image,
      imageID: `registry://${image}`,
      ...(this.#id && { containerID: this.#id }),
      state: this.#state,
      lastState: this.#lastState,
      ready: this.#isReady,
      started: this.#isStarted,
      restartCount: this.#restarts,
    };
  }

  /**
   * Returns a command that runs in the container.
   *
   * @throws Error if the container does not run
   */
  async inside(command: readonly string[], options?: InsideOptions): Promise<readonly string[]> {
    return await this.process.inside(command, options);
  }

  /**
   * Returns the process of the container.
   *
   * @throws Error if the container does not run
   */
  get process(): ContainerProcess {
    if (!this.#process) throw new Error(`container ${this.name} is not running`);
    return this.#process;
  }

  /** Starts the container, once. */
  start(): Promise<number> {
    return (this.done ??= this.#run());
  }

  /** Resolves when the startup probe and the hook postStart have succeeded, or the container has ended for good. */
  async started(): Promise<void> {
    if (this.#isStarted) return;
    await Promise.race([new Promise<void>((resolve) => this.#startedListeners.push(resolve)), this.done]);
  }

  /** Resolves when the first hook postStart has ended, or the container has ended for good; at once without a hook. */
  async hookEnded(): Promise<void> {
    if (!this.#options.container.lifecycle?.postStart) return;
    await Promise.race([new Promise<void>((resolve) => this.#hookListeners.push(resolve)), this.done]);
  }

  /** Stops the container: preStop, SIGTERM, and SIGKILL after the grace period in milliseconds. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    if (this.#process) await this.#terminate(this.#process, graceMs);
    await this.done;
  }

  async #run(): Promise<number> {
    let exitCode = 0;
    let failures = 0;
    let attempt = 0;
    while (!this.#isStopping) {
      const launch = await this.#prepare();
      if (!launch) break;
      const started = Date.now();
      exitCode = await this.#runOnce(launch, attempt++);
      if (this.#isStopping || !this.#options.shouldRestart(exitCode)) break;
      failures = Date.now() - started > STABLE ? 0 : failures + 1;
      await this.#backOff(failures);
    }
    return exitCode;
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Waits until the container can be started. Returns undefined if it is stopped before. */
  async #prepare(): Promise<Launch | undefined> {
    while (!this.#isStopping) {
      try {
        return await this.#options.prepare(this.#options.container);
      } catch (error) {
        const reason = error instanceof UnknownImageError ? "ErrImagePull" : "CreateContainerConfigError";
        this.#set({ waiting: { reason, message: (error as Error).message } });
        await this.#sleep(PREPARE_INTERVAL);
      }
    }
    return undefined;
  }

  async #runOnce(launch: Launch, attempt: number): Promise<number> {
    const { directory } = this.#options;
    const scratch = join(directory, `root-${attempt}`);
    await mkdir(scratch, { recursive: true });
    const file = logFile(directory, attempt);
    const log = await open(file, "a");
    const process = await launchContainer({ ...launch, scratch, output: log.fd });
    await log.close();
    this.#process = process;
    const startedAt = new Date().toISOString();
    this.#id = `process://${String(await process.pid())}`;
    this.#restarts = attempt;
    this.#set({ running: { startedAt } });
    const ended = new AbortController();
    recordLogTimes(file, ended.signal);
    this.#observe(process, ended.signal);
    const { exitCode, signal } = await process.exited;
    ended.abort();
    this.#process = undefined;
    this.#isReady = this.#isStarted = false;
    const message = await readFile(join(directory, "termination-log"), "utf8").catch(() => "");
    this.#set({
      terminated: {
        exitCode,
        ...(signal > 0 && { signal }),
        reason: exitCode === 0 ? "Completed" : "Error",
        ...(message && { message: message.slice(0, MAX_MESSAGE_BYTES) }),
        startedAt,
        finishedAt: new Date().toISOString(),
        containerID: this.#id,
      },
    });
    return exitCode;
  }

  /** Runs the hook postStart and the probes of a started container. */
  #observe(process: ContainerProcess, signal: AbortSignal): void {
    const { container, podIP } = this.#options;
    const target: ActionTarget = { container, process, podIP: podIP() };
    const { startupProbe, lifecycle } = container;
    const fail = (): void => void this.#terminate(process, this.#graceOf(container));
    const succeed = (): void => {
      if (signal.aborted) return;
      this.#isStarted = true;
      this.#isReady = container.readinessProbe === undefined;
      for (const listener of this.#startedListeners.splice(0)) listener();
      this.#options.changed();
      this.#observeStarted(target, fail, signal);
    };
    const probe = (): void => {
      if (!startupProbe) return succeed();
      const loop = new AbortController();
      const changed = (isHealthy: boolean): void => {
        loop.abort();
        if (isHealthy) succeed();
        else fail();
      };
      const signals = AbortSignal.any([signal, loop.signal]);
      void repeatProbe(startupProbe, target, undefined, { changed }, signals);
    };
    const hook = lifecycle?.postStart;
    if (!hook) return probe();
    const ended = (): void => this.#hookListeners.splice(0).forEach((listener) => listener());
    void execute(hook, target, HOOK_TIMEOUT).then(probe, fail).finally(ended);
  }

  #observeStarted(target: ActionTarget, fail: () => void, signal: AbortSignal): void {
    const { readinessProbe, livenessProbe } = this.#options.container;
    if (readinessProbe)
      void repeatProbe(
        readinessProbe,
        target,
        false,
        {
          changed: (isReady) => {
            this.#isReady = isReady;
            this.#options.changed();
          },
        },
        signal,
      );
    if (livenessProbe)
      void repeatProbe(livenessProbe, target, true, { changed: (isLive) => void (isLive || fail()) }, signal);
  }

  #graceOf({ livenessProbe }: Container): number {
    return (livenessProbe?.terminationGracePeriodSeconds ?? 30) * 1000;
  }

  async #terminate(process: ContainerProcess, graceMs: number): Promise<void> {
    const { container, podIP } = this.#options;
    const deadline = Date.now() + graceMs;
    const ended = new AbortController();
    void process.exited.then(() => ended.abort());
    const kill = setTimeoutUnlessEnded(() => void process.kill("SIGKILL"), graceMs, ended.signal);
    const hook = container.lifecycle?.preStop;
    if (hook && graceMs > 0) {
      const left = Math.max(deadline - Date.now(), 1);
      await Promise.race([
        execute(hook, { container, process, podIP: podIP() }, left).catch(() => undefined),
        sleep(left, undefined, { signal: ended.signal }).catch(() => undefined),
      ]);
    }
    if (graceMs > 0) await process.kill("SIGTERM");
    await process.exited;
    await kill;
  }

  async #backOff(failures: number): Promise<void> {
    if (failures <= 1) return;
    const delay = Math.min(this.#options.backoffMs * 2 ** (failures - 2), MAX_BACKOFF);
    const message = `back-off ${Math.round(delay / 1000)}s restarting failed container=${this.name}`;
    this.#set({ waiting: { reason: "CrashLoopBackOff", message } });
    await this.#sleep(delay);
  }

  async #sleep(delayMs: number): Promise<void> {
    await sleep(delayMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  #set(state: ContainerState): void {
    if (this.#state.terminated) this.#lastState = this.#state;
    this.#state = state;
    this.#options.changed();
  }
}

/** An image that the registry does not have. */
export class UnknownImageError extends Error {}

/** Calls a function after a delay, unless the signal is aborted before. Resolves after either. */
async function setTimeoutUnlessEnded(call: () => void, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const timer = setTimeout(call, delayMs);
  await once(signal, "abort");
  clearTimeout(timer);
}
