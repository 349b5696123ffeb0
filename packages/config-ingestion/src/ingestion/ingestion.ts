import type { Database } from "@istiod/incremental";
import type { Problem } from "@istiod/config-schema";
import type { Clock } from "@istiod/settings";
import { processClock } from "./process-clock.js";
import { Debounce } from "./debounce.js";
import { ProblemTracker } from "./problem-tracker.js";
import type { Source } from "./source.js";
import { type ReadResult, SourceSet, type SourceState } from "./source-set.js";
import type { Write } from "./write.js";

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
  readonly #sources: SourceSet;
  readonly #options: IngestionOptions;
  readonly #clock: Clock;
  readonly #startupQuiet: number;
  readonly #debounce: Debounce;
  readonly #tracker = new ProblemTracker();
  /** Writes that were read and are still debounced. */
  #pendingWrites: Write[] = [];
  /** Time of the first change that is not committed. */
  #burstStart: number | undefined;
  #readMs = 0;
  #cancelUrgent: (() => void) | undefined;
  #started = false;
  #startupDebounce: Debounce | undefined;
  #stopped = false;
  #work: Promise<void> = Promise.resolve();

  constructor(database: Database<C>, sources: readonly Source[], options: IngestionOptions = {}) {
    const { debounceAfter = 100, debounceMax = 10_000, clock = processClock } = options;
    this.#database = database;
    this.#sources = new SourceSet(sources, clock);
    this.#options = options;
    this.#clock = clock;
    this.#startupQuiet = Math.min(debounceAfter, startupQuietLimit);
    this.#debounce = new Debounce({
      quiet: debounceAfter,
      max: debounceMax,
      clock,
      fire: () => this.#enqueue(() => this.#commitAll()),
    });
    this.ready = this.#start();
    this.ready.catch(() => undefined);
  }

  /** Returns the current problems of all sources. */
  problems(): readonly Problem[] {
    return this.#sources.problems();
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
    return this.#sources.changedCount + this.#pendingWrites.length;
  }

  /** Stops the sources and waits for the commit in progress. The database keeps its content. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#debounce.cancel();
    this.#startupDebounce?.flush();
    this.#cancelUrgent?.();
    this.#sources.stop();
    await this.#work.catch(() => undefined);
  }

  async #start(): Promise<void> {
    try {
      await this.#sources.start(() => this.#onChange());
      const writes = await this.#readStable();
      if (!this.#stopped) this.#commit(writes, { endsBurst: true });
      this.#started = true;
    } catch (cause) {
      await this.stop();
      throw cause;
    }
    if (this.#sources.changedCount > 0) this.#scheduleCommit();
  }

  /** Reads all sources, and those that change meanwhile, until they are quiet or the startup timeout has passed. */
  async #readStable(): Promise<readonly Write[]> {
    const deadline = this.#clock.now() + startupTimeout;
    let { writes, contentAge } = this.#noteDuration(await this.#sources.readAll());
    // Sources that were written so recently may be written again.
    while ((this.#sources.changedCount > 0 || contentAge < this.#startupQuiet) && !this.#stopped) {
      if (this.#clock.now() >= deadline) break;
      await this.#quietTime(deadline);
      const next = this.#noteDuration(await this.#sources.readChanged());
      writes = [...writes, ...next.writes];
      contentAge = next.contentAge;
    }
    return writes;
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
    else this.#startupDebounce?.trigger();
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
    const { writes } = this.#noteDuration(await this.#sources.readChanged());
    if (this.#stopped) return;
    this.#commit([...this.#pendingWrites.splice(0), ...writes], { endsBurst: this.#sources.changedCount === 0 });
  }

  /** Commits the writes that skip debouncing, and keeps the others until the burst ends. */
  async #commitUrgent(): Promise<void> {
    const { writes } = this.#noteDuration(await this.#sources.readChanged());
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
    const endsBurst = this.#pendingWrites.length === 0 && this.#sources.changedCount === 0;
    if (endsBurst) this.#debounce.cancel();
    if (endsBurst || urgent.size > 0) this.#commit([...urgent], { endsBurst });
    else this.#reportProblems();
  }

  #noteDuration(result: ReadResult): ReadResult {
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
    const { found, resolved } = this.#tracker.update(this.problems());
    if (found.length > 0) this.#options.onProblems?.(found);
    if (resolved.length > 0) this.#options.onResolved?.(resolved);
  }
}

function isSameEntry(a: Write, b: Write): boolean {
  return a.collection === b.collection && a.key === b.key;
}
