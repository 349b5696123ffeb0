import { type Commit, Database, type View } from "@istiod/incremental";
import { type ApiClient, ApiError, isRetriable, type TypeAvailability } from "@istiod/kubernetes";
import { type Clock, monotonicClock } from "@istiod/runtime";
import { allObserved, type Controller } from "./controller.js";
import type { ControllerLog } from "./log.js";
import { ObservedObjects } from "./observed-objects.js";
import { describeWrite, executeWrite, type Write } from "./write.js";
import { WriteQueue } from "./write-queue.js";

export interface RunOptions {
  /** Its requests must fail once the leader lock is lost: see `Leadership.fenced`. */
  readonly client: ApiClient;
  readonly log: ControllerLog;
  /** Tells when a watched type is served that is not. Default: nobody does, and the API server is asked again. */
  readonly availability?: TypeAvailability | undefined;
  readonly clock?: Clock;
  /** Returns a number from 0 to 1. Default: `Math.random`. */
  readonly random?: () => number;
  /** Called after each attempt to write. */
  readonly onWrite?: WriteListener;
}

/** Receives a write that was executed, with its error if it failed. */
export type WriteListener = (write: Write, error?: unknown) => void;

/** A running controller. */
export interface RunningController {
  /** Ends at once. Requests in flight are aborted, and nothing is written any more. */
  stop(): void;
}

/**
 * Runs a controller until it is stopped: observes its objects, and writes those that are not as desired. Nothing is
 * written before all objects are known.
 */
export function runController(controller: Controller, options: RunOptions): RunningController {
  const run = new ControllerRun(controller, options);
  run.start();
  return run;
}

class ControllerRun implements RunningController {
  readonly #controller: Controller;
  readonly #options: RunOptions;
  readonly #database: Database<void>;
  readonly #view: View<void>;
  readonly #objects: readonly ObservedObjects[];
  readonly #queue: WriteQueue;
  readonly #stopping = new AbortController();
  #targets: ReadonlySet<string> = new Set();
  #isComplete = false;
  #ends: (() => void)[] = [];

  constructor(controller: Controller, options: RunOptions) {
    this.#controller = controller;
    this.#options = options;
    const { client, log, availability, clock = monotonicClock, random = Math.random } = options;
    const { concurrency = 10 } = controller;
    this.#database = new Database<void>({
      onObserverError: (error) => log.error({ err: error }, `${controller.name}: observer failed`),
    });
    this.#view = this.#database.view(undefined);
    const changed = (): void => this.#onChange();
    this.#objects = controller.watches.map(
      (watch) => new ObservedObjects(watch, { client, availability, clock, changed, database: this.#database }),
    );
    this.#queue = new WriteQueue({ concurrency, clock, random, process: (key) => this.#process(key) });
  }

  start(): void {
    this.#options.log.info({}, `starting ${this.#controller.name}`);
    this.#ends.push(this.#database.observe({ after: (commit) => this.#afterCommit(commit) }));
    const end = this.#controller.inputs?.(this.#database);
    if (end !== undefined) this.#ends.push(end);
    for (const objects of this.#objects) objects.start();
    this.#onChange();
  }

  stop(): void {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort();
    this.#queue.stop();
    for (const objects of this.#objects) objects.stop();
    for (const end of this.#ends) end();
    this.#view.release();
    this.#options.log.info({}, `stopped ${this.#controller.name}`);
  }

  /** Starts to write once all objects are known. */
  #onChange(): void {
    if (this.#isComplete || this.#stopping.signal.aborted) return;
    if (!this.#objects.every(({ isComplete }) => isComplete)) return this.#reportForbidden();
    this.#isComplete = true;
    this.#database.commit((tx) => tx.set(allObserved, "", true));
    this.#followTargets();
  }

  readonly #reported = new Set<ObservedObjects>();

  #reportForbidden(): void {
    for (const objects of this.#objects) {
      if (objects.state.phase !== "forbidden" || this.#reported.has(objects)) continue;
      this.#reported.add(objects);
      const { error } = objects.state;
      this.#options.log.warn({ err: error }, `${this.#controller.name} waits: ${error.message}`);
    }
  }

  #afterCommit({ affected }: Commit): void {
    if (!this.#isComplete || this.#stopping.signal.aborted) return;
    const { targets, write } = this.#controller;
    for (const { query, arg } of affected) if (query === write) this.#follow(arg as string);
    if (affected.some(({ query }) => query === (targets as unknown))) this.#followTargets();
  }

  #followTargets(): void {
    const before = this.#targets;
    const now = new Set(this.#view.follow(this.#controller.targets));
    this.#targets = now;
    for (const key of before) {
      if (now.has(key)) continue;
      this.#view.unfollow(this.#controller.write, key);
      this.#queue.delete(key);
    }
    for (const key of now) if (!before.has(key)) this.#follow(key);
  }

  #follow(key: string): void {
    if (this.#desired(key) !== undefined) this.#queue.addChanged(key);
  }

  #desired(key: string): Write | undefined {
    try {
      return this.#view.follow(this.#controller.write, key);
    } catch (error) {
      const { message } = error as Error;
      this.#options.log.error(
        { err: error, key },
        `${this.#controller.name} cannot compute the desired state: ${message}`,
      );
      return undefined;
    }
  }

  async #process(key: string): Promise<number> {
    const write = this.#targets.has(key) ? this.#desired(key) : undefined;
    if (write === undefined) return 0;
    const { client, log } = this.#options;
    const { name, fieldManager = name } = this.#controller;
    const { signal } = this.#stopping;
    try {
      const object = await executeWrite(client, write, { fieldManager, signal });
      this.#options.onWrite?.(write);
      if (signal.aborted) return 1;
      if (object !== undefined) for (const objects of this.#objects) objects.record(write.type, object);
      return 1;
    } catch (error) {
      if (signal.aborted || (error instanceof ApiError && error.code === "fenced")) return 0;
      this.#options.onWrite?.(write, error);
      const details = { err: error, action: write.action };
      const message = `${name}: ${describeWrite(write)}: ${(error as Error).message}`;
      // A conflict is followed by the observation of the other write.
      const isConflict = error instanceof ApiError && error.code === "conflict";
      if (isRetriable(error) || isConflict) log.info(details, message);
      else log.warn(details, message);
      throw error;
    }
  }
}
