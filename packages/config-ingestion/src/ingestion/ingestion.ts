import type { Database } from "@istiod/incremental";
import type { Problem } from "@istiod/config-schema";
import type { Clock } from "@istiod/runtime";
import { processClock } from "./process-clock.js";
import { Debounce } from "./debounce.js";
import type { CommitTiming, IngestionOptions, SourceEntry } from "./ingestion-options.js";
import { ProblemTracker } from "./problem-tracker.js";
import type { Source } from "./source.js";
import { type ReadResult, type SourceOptions, SourceSet, type SourceState } from "./source-set.js";
import { PendingWrites, type Write } from "./write.js";

/** Milliseconds in which changes that may skip debouncing are coalesced. */
const mergeWindow = 5;

/** Upper bound of the quiet time, in milliseconds, that the first commit waits for. */
const startupQuietLimit = 500;

/** Milliseconds after the first sync after which the first commit is made although changes keep coming. */
const startupTimeout = 10_000;

/**
 * Reads sources into a database: everything in one commit at startup, then one commit for each burst of changes,
 * whichever sources they come from. Unchanged objects are not written. Sources can be added, replaced and removed at
 * any time.
 *
 * The first commit waits until every source has synced or missed its deadline, and for the end of a burst: half of a
 * configuration that is still being written, such as services whose endpoints are missing, must not become the first
 * state.
 *
 * If several sources define an object, that of the first source applies.
 */
export class Ingestion<C> {
  /** Resolves after the first commit. Rejects with `IngestionError` if a required source cannot be read at all. */
  readonly ready: Promise<void>;
  readonly #database: Database<C>;
  readonly #sources: SourceSet;
  readonly #options: IngestionOptions;
  readonly #clock: Clock;
  readonly #startupQuiet: number;
  readonly #debounce: Debounce;
  readonly #tracker = new ProblemTracker();
  readonly #pending = new PendingWrites();
  /** Time of the first change that is not committed. */
  #burstStart: number | undefined;
  #readMs = 0;
  #cancelUrgent: (() => void) | undefined;
  #started = false;
  #startupDebounce: Debounce | undefined;
  /** Continues the startup when a sync state may have changed. */
  #wakeStartup: () => void = () => undefined;
  #stopped = false;
  #work: Promise<void> = Promise.resolve();

  constructor(database: Database<C>, sources: readonly (Source | SourceEntry)[], options: IngestionOptions = {}) {
    const { debounceAfter = 100, debounceMax = 10_000, clock = processClock } = options;
    this.#database = database;
    this.#options = options;
    this.#clock = clock;
    this.#sources = new SourceSet({
      clock,
      currentValue: (collection, key) => {
        const pending = this.#pending.get(collection, key);
        return pending === undefined ? database.read(collection, key) : pending.value;
      },
      notify: () => this.#onChange(),
    });
    this.#startupQuiet = Math.min(debounceAfter, startupQuietLimit);
    this.#debounce = new Debounce({
      quiet: debounceAfter,
      max: debounceMax,
      clock,
      fire: () => this.#enqueue(() => this.#commitAll()),
    });
    for (const entry of sources) {
      const { source, ...how } = "source" in entry ? entry : { source: entry };
      this.#sources.add(source, { isRequired: true, ...how });
    }
    this.ready = this.#start();
    this.ready.catch(() => undefined);
  }

  /**
   * Adds a source after the others. Its objects are committed at once when it has synced. Before the first commit,
   * that waits for the source as well.
   *
   * @throws IngestionError if the source was added before
   */
  add(source: Source, options: SourceOptions = {}): void {
    this.#sources.add(source, options);
  }

  /**
   * Replaces a source, for example when the credentials of a cluster change: `next` starts now, and when it has synced,
   * one commit writes the differences, and `current` stops. Until then `current` stays active. A replacement that has
   * not synced yet is replaced itself: `current` is either of the two.
   *
   * @throws IngestionError if `current` is not a source, or `next` was added before
   */
  replace(current: Source, next: Source, options: Pick<SourceOptions, "syncTimeout"> = {}): void {
    this.#sources.replace(current, next, options);
  }

  /**
   * Stops a source and its replacement, and removes its objects in one commit. Either of the two can be given.
   *
   * @throws IngestionError if it is not a source
   */
  remove(source: Source): void {
    this.#sources.remove(source);
  }

  /** Returns the current problems of all sources. */
  problems(): readonly Problem[] {
    return [...this.#sources.problems(), ...this.#sources.syncProblems().map(({ problem }) => problem)];
  }

  /** Returns the state of each source, in their order. */
  states(): readonly SourceState[] {
    return this.#sources.states();
  }

  /** Resolves when the sources that are being read now are committed. Does not wait for changes that are debounced. */
  async idle(): Promise<void> {
    await this.#work;
  }

  /** Reports whether there are changes that are not committed yet. */
  get isDebouncing(): boolean {
    return this.#burstStart !== undefined;
  }

  /** Number of changed sources that are not read yet, and of objects that are read and not committed yet. */
  get pendingCount(): number {
    return this.#sources.changedCount + this.#pending.size;
  }

  /** Stops the sources and waits for the commit in progress. The database keeps its content. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#debounce.cancel();
    this.#startupDebounce?.flush();
    this.#wakeStartup();
    this.#cancelUrgent?.();
    this.#sources.stop();
    await this.#work.catch(() => undefined);
  }

  async #start(): Promise<void> {
    try {
      await this.#readStable();
      if (!this.#stopped) this.#commit(this.#pending.take(), { endsBurst: true });
      this.#started = true;
    } catch (cause) {
      await this.stop();
      throw cause;
    }
    if (this.#sources.changedCount > 0) this.#scheduleCommit();
  }

  /** Reads all sources, and those that change meanwhile, until they are quiet or the startup timeout has passed. */
  async #readStable(): Promise<void> {
    await this.#settled();
    const deadline = this.#clock.now() + startupTimeout;
    for (;;) {
      const { contentAge } = await this.#readChanged();
      this.#throwStartupFault();
      // Sources that were written so recently may be written again.
      const isQuiet = this.#sources.changedCount === 0 && contentAge >= this.#startupQuiet;
      if (this.#stopped || (isQuiet && this.#sources.isSettled) || this.#clock.now() >= deadline) return;
      if (!isQuiet) await this.#quietTime(deadline);
      await this.#settled();
    }
  }

  /** Waits until every source has synced or missed its deadline. @throws the error of a required source */
  async #settled(): Promise<void> {
    for (;;) {
      this.#throwStartupFault();
      if (this.#stopped || this.#sources.isSettled) return;
      await new Promise<void>((resolve) => (this.#wakeStartup = resolve));
    }
  }

  #throwStartupFault(): void {
    const fault = this.#sources.startupFault;
    if (fault !== undefined && !this.#stopped) throw fault;
  }

  /** Waits until nothing has changed for the startup quiet time, or until the deadline. */
  async #quietTime(deadline: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#startupDebounce = new Debounce({
        quiet: this.#startupQuiet,
        max: deadline - this.#clock.now(),
        clock: this.#clock,
        fire: resolve,
      });
      this.#startupDebounce.trigger();
    });
  }

  #onChange(): void {
    if (this.#stopped) return;
    if (this.#started) this.#scheduleCommit();
    else {
      this.#startupDebounce?.trigger();
      this.#wakeStartup();
    }
  }

  #scheduleCommit(): void {
    this.#burstStart ??= this.#clock.now();
    this.#debounce.trigger();
    if (this.#options.skipsDebounce === undefined) return;
    this.#cancelUrgent ??= this.#clock.after(mergeWindow, () => {
      this.#cancelUrgent = undefined;
      this.#enqueue(() => this.#commitUrgent());
    });
  }

  /** Runs work after the work in progress, unless stopped by then. */
  #enqueue(work: () => Promise<void>): void {
    this.#work = this.#work.then(async () => {
      if (!this.#stopped) await work();
    });
  }

  async #commitAll(): Promise<void> {
    await this.#readChanged();
    if (this.#stopped) return;
    this.#commit(this.#pending.take(), { endsBurst: this.#sources.changedCount === 0 });
  }

  /** Commits the writes that skip debouncing, and keeps the others until the burst ends. */
  async #commitUrgent(): Promise<void> {
    await this.#readChanged();
    if (this.#stopped) return;
    const urgent = this.#pending.take(
      (write) => this.#options.skipsDebounce?.(write, this.#database.read(write.collection, write.key)) === true,
    );
    const endsBurst = this.#pending.size === 0 && this.#sources.changedCount === 0;
    if (endsBurst) this.#debounce.cancel();
    if (endsBurst || urgent.length > 0) this.#commit(urgent, { endsBurst });
    else this.#reportProblems();
  }

  async #readChanged(): Promise<ReadResult> {
    const result = await this.#sources.readChanged((write) => this.#pending.add(write));
    this.#readMs = result.readMs;
    return result;
  }

  #commit(writes: readonly Write[], { endsBurst }: { readonly endsBurst: boolean }): void {
    const start = this.#clock.now();
    const commit = this.#database.commit((tx) => {
      for (const { collection, key, value } of writes) {
        if (value === undefined) tx.delete(collection, key);
        else tx.set(collection, key, value);
      }
    });
    const timing: CommitTiming = {
      revision: commit.revision,
      debounceMs: start - (this.#burstStart ?? start),
      commitMs: this.#clock.now() - start,
      readMs: this.#readMs,
    };
    if (endsBurst) this.#burstStart = undefined;
    this.#reportProblems();
    if (commit.changed.length > 0) this.#options.onCommitTiming?.(timing);
  }

  #reportProblems(): void {
    const { found, resolved } = this.#tracker.update(this.#sources.problems(), this.#sources.syncProblems());
    if (found.length > 0) this.#options.onProblems?.(found);
    if (resolved.length > 0) this.#options.onResolved?.(resolved);
  }
}
