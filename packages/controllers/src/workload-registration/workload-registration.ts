import { collection } from "@istiod/incremental";
import { type ApiClient, ApiError } from "@istiod/kubernetes";
import { type Clock, systemClock } from "@istiod/runtime";
import { allObserved, type Controller, type ControllerDatabase, type Watch } from "../controller/controller.js";
import type { ControllerLog } from "../controller/log.js";
import { runController, type RunningController, type WriteListener } from "../controller/run-controller.js";
import type { Write } from "../controller/write.js";
import type { RegistrationMetrics } from "../metrics/controller-metrics.js";
import { checkRegistration } from "./check-registration.js";
import { entryWrites, type RegistrationInputs } from "./entry-write.js";
import {
  entryFields,
  groupFields,
  type ObservedEntry,
  observeEntry,
  type ObservedGroup,
  observeGroup,
  workloadEntryType,
  workloadGroupType,
} from "./observed-entries.js";
import { RegistrationError } from "./registration-error.js";
import type { RegistrationPolicy } from "./registration-state.js";
import { entryNameOf, type Health, type Registration, type Workload } from "./workload.js";

export interface WorkloadRegistrationOptions extends RegistrationPolicy {
  readonly client: ApiClient;
  readonly log: ControllerLog;
  /** Creates WorkloadEntries (`PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION`). */
  readonly registers: boolean;
  /** Reports health (`PILOT_ENABLE_WORKLOAD_ENTRY_HEALTHCHECKS`). */
  readonly reportsHealth: boolean;
  /** Requires the identity of the WorkloadEntry (`ISTIO_WORKLOAD_ENTRY_VALIDATE_IDENTITY`). */
  readonly validatesIdentity: boolean;
  /** Default: nothing is counted. */
  readonly metrics?: RegistrationMetrics;
  /** The only namespace that is watched (`ISTIO_WATCH_NAMESPACE`). Default: all. */
  readonly namespace?: string;
  /** Milliseconds within which a stream's WorkloadEntry must be written. Default: 10,000. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
}

/** A workload whose stream is open. */
export interface RegisteredWorkload {
  /** Reports its health. */
  report(health: Omit<Health, "at">): void;
  /** Notes the end of its stream. */
  closed(): void;
}

/** Milliseconds for which the end of streams is written at shutdown. */
const drainMs = 3000;

interface Stream {
  readonly key: string;
  readonly connectedAt: number;
}

/**
 * Keeps the WorkloadEntries of workloads that are connected to this istiod. Every istiod does so for its own streams,
 * without a lock: an annotation names the istiod that a WorkloadEntry belongs to, and every write fails if the
 * WorkloadEntry has changed.
 */
export class WorkloadRegistration {
  readonly #options: WorkloadRegistrationOptions;
  readonly #clock: Clock;
  readonly #inputs: RegistrationInputs = {
    registrations: collection("Registration"),
    entries: collection("WorkloadEntry"),
    groups: collection("WorkloadGroup"),
    now: collection("Now"),
  };
  readonly #running: RunningController;
  readonly #streams = new Map<string, Set<Stream>>();
  readonly #waiting = new Set<() => void>();
  /** Keys of registrations that can be deleted. */
  readonly #stale = new Set<string>();
  /** Keys of registrations whose end may not be written yet. */
  readonly #ended = new Set<string>();
  #database: ControllerDatabase | undefined;

  constructor(options: WorkloadRegistrationOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const { client, log } = options;
    const onWrite: WriteListener = (write, error) => this.#count(write, error);
    this.#running = runController(this.#controller(), { client, log, onWrite });
  }

  /**
   * Registers the workload of a new stream, and resolves when its WorkloadEntry is written; with undefined if the
   * workload has none.
   *
   * @throws RegistrationError
   */
  async opened(workload: Workload): Promise<RegisteredWorkload | undefined> {
    const { registers, reportsHealth } = this.#options;
    const isRegistered = registers && workload.group !== undefined;
    if (!isRegistered && !(reportsHealth && workload.entry !== undefined)) return undefined;
    const { group: _group, ...existing } = workload;
    const used = isRegistered ? workload : existing;
    const key = `${workload.namespace}/${entryNameOf(used) ?? ""}`;
    await this.#until(used.id, () => this.#database?.read(allObserved, "") === true);
    const entry = this.#database?.read(this.#inputs.entries, key);
    try {
      const objects = { key, entry: entry?.value, group: this.#groupOf(used) };
      checkRegistration(used, objects, this.#options.validatesIdentity);
    } catch (error) {
      if (isRegistered && (error as RegistrationError).code === "precondition") this.#options.metrics?.failed();
      throw error;
    }
    if (!isRegistered && entry?.value.isHealthChecked !== true) return undefined;
    const stream = { key, connectedAt: this.#clock.now() };
    const streams = this.#streams.get(key) ?? new Set();
    this.#streams.set(key, streams.add(stream));
    this.#ended.delete(key);
    this.#stale.delete(key);
    this.#set(key, { workload: used, connectedAt: stream.connectedAt });
    try {
      await this.#until(used.id, () => {
        const written = this.#database?.read(this.#inputs.entries, key)?.value.connectedAt;
        return written !== undefined && written >= stream.connectedAt;
      });
    } catch (error) {
      this.#closed(stream);
      throw error;
    }
    return { report: (health) => this.#report(stream, health), closed: () => this.#closed(stream) };
  }

  /** Writes the end of closed streams, within a bound of time, and stops. */
  async stop(): Promise<void> {
    await this.#until("a closed stream", () => this.#forgetEnded().size === 0, drainMs).catch(() => undefined);
    this.#running.stop();
  }

  /** Forgets the registrations whose end is written, or belongs to another istiod. Returns the keys of the others. */
  #forgetEnded(): ReadonlySet<string> {
    for (const key of this.#ended) {
      const entry = this.#database?.read(this.#inputs.entries, key)?.value;
      if (entry?.controller === this.#options.identity && entry.connectedAt !== undefined) continue;
      this.#ended.delete(key);
      this.#stale.add(key);
    }
    return this.#ended;
  }

  #groupOf({ namespace, group }: Workload): ObservedGroup | undefined {
    if (group === undefined) return undefined;
    return this.#database?.read(this.#inputs.groups, `${namespace}/${group}`)?.value;
  }

  #report({ key, connectedAt }: Stream, health: Omit<Health, "at">): void {
    const registration = this.#database?.read(this.#inputs.registrations, key);
    if (!this.#options.reportsHealth || registration?.connectedAt !== connectedAt) return;
    this.#set(key, { ...registration, health: { ...health, at: this.#clock.now() } });
  }

  #closed(stream: Stream): void {
    const { key } = stream;
    const streams = this.#streams.get(key);
    if (streams?.delete(stream) !== true || streams.size > 0) return;
    this.#streams.delete(key);
    const registration = this.#database?.read(this.#inputs.registrations, key);
    if (registration === undefined) return;
    this.#ended.add(key);
    this.#set(key, { ...registration, disconnectedAt: this.#clock.now() });
  }

  /** Counts a write of a WorkloadEntry that is or was registered. Races with other istiods are no errors. */
  #count(write: Write, error: unknown): void {
    const { metrics } = this.#options;
    if (error !== undefined) {
      if (!(error instanceof ApiError && error.code === "conflict")) metrics?.failed();
      return;
    }
    if (write.action === "create") metrics?.registered();
    if (write.action === "delete") metrics?.deleted();
    if (write.action !== "merge" || write.subresource !== undefined) return;
    const { namespace = "", name } = write.name;
    const registration = this.#database?.read(this.#inputs.registrations, `${namespace}/${name}`);
    if (registration?.workload.group === undefined) return;
    if (registration.disconnectedAt === undefined) metrics?.updated();
    else metrics?.unregistered();
  }

  #set(key: string, registration: Registration): void {
    this.#database?.commit((tx) => tx.set(this.#inputs.registrations, key, registration));
  }

  /** Waits for a condition of the database. */
  async #until(id: string, condition: () => boolean, timeoutMs = this.#options.timeoutMs ?? 10_000): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      if (condition()) return resolve();
      const check = (): void => {
        if (!condition()) return;
        cancel();
        this.#waiting.delete(check);
        resolve();
      };
      const cancel = this.#clock.after(timeoutMs, () => {
        this.#waiting.delete(check);
        const reason = `auto-registration WorkloadEntry of ${id} failed: it could not be written within ${timeoutMs} ms`;
        reject(new RegistrationError("unavailable", reason));
      });
      this.#waiting.add(check);
    });
  }

  #controller(): Controller {
    const { namespace } = this.#options;
    const scope = namespace === undefined ? {} : { namespace };
    const watches: readonly Watch[] = [
      {
        ...scope,
        type: workloadEntryType,
        collection: this.#inputs.entries,
        fields: entryFields,
        select: observeEntry,
      } as Watch<ObservedEntry> as Watch,
      {
        ...scope,
        type: workloadGroupType,
        collection: this.#inputs.groups,
        fields: groupFields,
        select: observeGroup,
      } as Watch<ObservedGroup> as Watch,
    ];
    const inputs = (database: ControllerDatabase): (() => void) => this.#follow(database);
    return {
      name: "workload registration",
      fieldManager: "istiod-workload-registration",
      watches,
      inputs,
      ...entryWrites(this.#inputs, this.#options),
    };
  }

  #follow(database: ControllerDatabase): () => void {
    this.#database = database;
    const unobserve = database.observe({ after: () => [...this.#waiting].forEach((check) => check()) });
    const tickMs = Math.max(100, this.#options.graceMs / 10);
    let cancel = (): void => undefined;
    const tick = (): void => {
      this.#forgetEnded();
      database.commit((tx) => {
        tx.set(this.#inputs.now, "", this.#clock.now());
        for (const key of this.#stale) tx.delete(this.#inputs.registrations, key);
        this.#stale.clear();
      });
      cancel = this.#clock.after(tickMs, tick);
    };
    tick();
    return () => {
      unobserve();
      cancel();
    };
  }
}
