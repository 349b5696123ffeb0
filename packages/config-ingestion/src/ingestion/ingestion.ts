import type { Database } from "@istiod/incremental";
import type { Problem } from "@istiod/config-schema";
import { type Clock, systemClock } from "@istiod/settings";
import { Debounce } from "./debounce.js";
import { ProblemTracker } from "./problem-tracker.js";
import type { Source } from "./source.js";
import { recordWrites, type Write } from "./write.js";

export interface IngestionOptions {
  /**
   * Milliseconds without a further change after which a burst of changes is committed. Default 100, as Istio's
   * `PILOT_DEBOUNCE_AFTER`.
   */
  readonly debounceAfter?: number;
  /**
   * Milliseconds after which a burst is committed although changes keep coming. Default 10,000, as Istio's
   * `PILOT_DEBOUNCE_MAX`.
   */
  readonly debounceMax?: number;
  readonly clock?: Clock;
  /**
   * Reports whether a write is committed without debouncing. Writes of endpoints are, where Istio's
   * `PILOT_ENABLE_EDS_DEBOUNCE` is false: see `changesEndpointsAlone`. Default: every write is debounced.
   *
   * @param before the value that the write replaces; undefined if there is none
   */
  skipsDebounce?(write: Write, before: unknown): boolean;
  /** Called with new problems. A problem is reported again only after it was resolved. */
  onProblems?(problems: readonly Problem[]): void;
  /** Called with problems that were resolved. */
  onResolved?(problems: readonly Problem[]): void;
  /**
   * Called after every commit that changed something. The commit itself is announced by the database: see
   * `Database.observe`.
   */
  onCommitTiming?(timing: CommitTiming): void;
}

/** Durations of one commit of an ingestion. */
export interface CommitTiming {
  /** Revision that the commit created. */
  readonly revision: number;
  /** Milliseconds from the first change of the burst to the commit. */
  readonly debounceMs: number;
  /** Milliseconds that the commit took, including its observers. */
  readonly commitMs: number;
  /** Milliseconds that reading the sources took before the commit. */
  readonly readMs: number;
}

/** State of one source when it was last read. */
export interface SourceState {
  readonly source: Source;
  /** Reports whether the source changed since then. */
  readonly changed: boolean;
  readonly problems: readonly Problem[];
}

/** Milliseconds in which changes that may skip debouncing are coalesced. */
const mergeWindow = 5;

/** Upper bound of the quiet time, in milliseconds, that the first commit waits for. */
const startupQuietLimit = 500;

/** Milliseconds after which the first commit is made although changes keep coming. */
const startupTimeout = 10_000;

/**
 * Reads sources into a database: everything in one commit at startup, then one commit for each burst of changes,
 * whichever sources they come from. Unchanged objects are not written.
 *
 * The first commit waits for the end of a burst as well: half of a configuration that is still being written, such as
 * services whose endpoints are missing, must not become the first state.
 */
export class Ingestion<C> {
  /** Resolves after the first commit. Rejects with `IngestionError` if a source cannot be read at all. */
  readonly ready: Promise<void>;
  readonly #database: Database<C>;
  readonly #sources: readonly Source[];
  readonly #options: IngestionOptions;
  readonly #clock: Clock;
  readonly #startupQuiet: number;
  readonly #debounce: Debounce;
  readonly #tracker = new ProblemTracker();
  readonly #problemsBySource = new Map<Source, readonly Problem[]>();
  readonly #changedSources = new Set<Source>();
  /** Writes that were read and are still debounced. */
  #pendingWrites: Write[] = [];
  /** Time of the first change that is not committed. */
  #burstStart: number | undefined;
  #readMs = 0;
  /** Milliseconds since the last of the content that was read was written; Infinity if no source knows. */
  #contentAge = Infinity;
  #cancelUrgent: (() => void) | undefined;
  #started = false;
  #startupDebounce: Debounce | undefined;
  #stopped = false;
  #work: Promise<void> = Promise.resolve();

  constructor(database: Database<C>, sources: readonly Source[], options: IngestionOptions = {}) {
    const { debounceAfter = 100, debounceMax = 10_000, clock = systemClock } = options;
    this.#database = database;
    this.#sources = sources;
    this.#options = options;
    this.#clock = clock;
    this.#startupQuiet = Math.min(debounceAfter, startupQuietLimit);
    this.#debounce = new Debounce({
      quiet: debounceAfter,
      max: debounceMax,
      clock,
      fire: () => this.#enqueue((changed) => this.#commitAll(changed)),
    });
    this.ready = this.#start();
    this.ready.catch(() => undefined);
  }

  /** Returns the current problems of all sources. */
  problems(): readonly Problem[] {
    return [...this.#problemsBySource.values()].flat();
  }

  /** Returns the state of each source, in their order. */
  states(): readonly SourceState[] {
    return this.#sources.map((source) => ({
      source,
      changed: this.#changedSources.has(source),
      problems: this.#problemsBySource.get(source) ?? [],
    }));
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
    return this.#changedSources.size + this.#pendingWrites.length;
  }

  /** Stops the sources and waits for the commit in progress. The database keeps its content. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#debounce.cancel();
    this.#startupDebounce?.flush();
    this.#cancelUrgent?.();
    for (const source of this.#sources) source.stop();
    await this.#work.catch(() => undefined);
  }

  async #start(): Promise<void> {
    try {
      for (const source of this.#sources) await source.start(() => this.#onChange(source));
      const writes = await this.#read(this.#sources);
      const deadline = this.#clock.now() + startupTimeout;
      while (this.#isStartupBusy() && !this.#stopped && this.#clock.now() < deadline) {
        await this.#quietTime(deadline);
        writes.push(...(await this.#read(this.#takeChangedSources())));
      }
      if (!this.#stopped) this.#commit(writes, { endsBurst: true });
      this.#started = true;
    } catch (cause) {
      await this.stop();
      throw cause;
    }
    if (this.#changedSources.size > 0) this.#scheduleCommit();
  }

  /** Reports whether sources changed during startup, or were written so recently that more may follow. */
  #isStartupBusy(): boolean {
    return this.#changedSources.size > 0 || this.#contentAge < this.#startupQuiet;
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

  #onChange(source: Source): void {
    if (this.#stopped) return;
    this.#changedSources.add(source);
    if (this.#started) this.#scheduleCommit();
    else this.#startupDebounce?.trigger();
  }

  #scheduleCommit(): void {
    this.#burstStart ??= this.#clock.now();
    this.#debounce.trigger();
    if (this.#options.skipsDebounce === undefined) return;
    this.#cancelUrgent ??= this.#clock.after(mergeWindow, () => {
      this.#cancelUrgent = undefined;
      this.#enqueue((changed) => this.#commitUrgent(changed));
    });
  }

  /** Runs work after the work in progress, with the sources that changed by then. */
  #enqueue(work: (changed: readonly Source[]) => Promise<void>): void {
    this.#work = this.#work.then(async () => {
      const changed = this.#takeChangedSources();
      if (!this.#stopped) await work(changed);
    });
  }

  #takeChangedSources(): readonly Source[] {
    const changed = this.#sources.filter((source) => this.#changedSources.has(source));
    this.#changedSources.clear();
    return changed;
  }

  async #commitAll(changed: readonly Source[]): Promise<void> {
    const writes = await this.#read(changed);
    if (this.#stopped) return;
    this.#commit([...this.#pendingWrites.splice(0), ...writes], { endsBurst: this.#changedSources.size === 0 });
  }

  /** Commits the writes that skip debouncing, and keeps the others until the burst ends. */
  async #commitUrgent(changed: readonly Source[]): Promise<void> {
    const writes = await this.#read(changed);
    if (this.#stopped) return;
    const urgent = new Set(
      writes.filter(
        (write) => this.#options.skipsDebounce?.(write, this.#database.read(write.collection, write.key)) === true,
      ),
    );
    this.#pendingWrites = [
      ...this.#pendingWrites.filter((pending) => ![...urgent].some((write) => isSameEntry(write, pending))),
      ...writes.filter((write) => !urgent.has(write)),
    ];
    const endsBurst = this.#pendingWrites.length === 0 && this.#changedSources.size === 0;
    if (endsBurst) this.#debounce.cancel();
    if (endsBurst || urgent.size > 0) this.#commit([...urgent], { endsBurst });
    else this.#reportProblems();
  }

  async #read(sources: readonly Source[]): Promise<Write[]> {
    const start = this.#clock.now();
    const updates = await Promise.all(sources.map(async (source) => ({ source, update: await source.read() })));
    for (const { source, update } of updates) this.#problemsBySource.set(source, update.problems);
    this.#readMs = this.#clock.now() - start;
    this.#contentAge = Math.min(...updates.map(({ update }) => update.age ?? Infinity));
    return updates.flatMap(({ update }) => recordWrites((tx) => update.apply(tx)));
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
    const { found, resolved } = this.#tracker.update(this.problems());
    if (found.length > 0) this.#options.onProblems?.(found);
    if (resolved.length > 0) this.#options.onResolved?.(resolved);
  }
}

function isSameEntry(a: Write, b: Write): boolean {
  return a.collection === b.collection && a.key === b.key;
}
