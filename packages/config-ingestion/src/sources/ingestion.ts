import type { Database } from "@istiod/incremental";
import { formatProblem, type Problem } from "@istiod/config-schema";
import { systemClock, type Clock } from "@istiod/settings";
import { Debounce } from "./debounce.js";
import type { Source } from "./source.js";
import { recordWrites, type Write } from "./write.js";

export interface IngestionOptions {
  /**
   * A burst of changes is over when nothing changed for this many milliseconds. Default 100, as Istio's
   * `PILOT_DEBOUNCE_AFTER`.
   */
  readonly quiet?: number;
  /**
   * It is committed after this many milliseconds even if it goes on. Default 10,000, as Istio's `PILOT_DEBOUNCE_MAX`.
   */
  readonly max?: number;
  readonly clock?: Clock;
  /**
   * Whether a write does not wait for quiet, whatever waits beside it; as those of endpoints do not where Istio's
   * `PILOT_ENABLE_EDS_DEBOUNCE` is false (`changesEndpointsAlone`). Default: all wait.
   *
   * @param before the value that is to be replaced; undefined if there is none
   */
  atOnce?(write: Write, before: unknown): boolean;
  /** Told what is newly wrong. A problem is told again only after it was gone. */
  onProblems?(problems: readonly Problem[]): void;
  /** Told what is no longer wrong. */
  onResolved?(problems: readonly Problem[]): void;
  /**
   * Called after every commit that changed something. The commit itself is announced by the database: see
   * `Database.observe`.
   */
  onCommitTiming?(timing: CommitTiming): void;
}

/** Durations of one commit of an ingestion. */
export interface CommitTiming {
  /** The revision that the commit made. */
  readonly revision: number;
  /** Milliseconds from the first change of the burst to the commit. */
  readonly gatheredMs: number;
  /** Milliseconds that the commit itself took, with its observers. */
  readonly committingMs: number;
  /** Milliseconds that reading the sources took before it. */
  readonly readingMs: number;
}

/** State of one source when it was read last. */
export interface SourceState {
  readonly source: Source;
  /** It changed since then. */
  readonly changed: boolean;
  readonly problems: readonly Problem[];
}

/** Within this many milliseconds, changes that need not wait are taken together. */
const together = 5;

/**
 * Who begins while somebody writes waits for that to end: for the quiet time or this many milliseconds, but not for
 * longer than so many.
 */
const longestQuiet = 500;
const longestBeginning = 10_000;

/**
 * Reads sources into a database: everything in one commit at first, then one commit for each burst of changes, of
 * whichever sources. What did not really change is not written. The first commit, too, waits for the end of a burst
 * that it falls into: half of what somebody is writing, such as services whose endpoints are still to come, is not the
 * first state.
 */
export class Ingestion<C> {
  /** Settles when the first commit is made; rejects where a source cannot be read at all. */
  readonly ready: Promise<void>;
  private readonly changed = new Set<Source>();
  private readonly problemsOf = new Map<Source, readonly Problem[]>();
  private readonly debounce: Debounce;
  private readonly clock: Clock;
  private readonly beginningQuiet: number;
  /** Read, and not yet to be committed. */
  private held: Write[] = [];
  private since: number | undefined;
  private readingMs = 0;
  /** Milliseconds since the last of what was read was written. */
  private age = Infinity;
  private cancelPeek: (() => void) | undefined;
  private told = new Map<string, Problem>();
  private started = false;
  /** Gathers what changes before the first commit. */
  private beginning: Debounce | undefined;
  private stopped = false;
  private reading: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database<C>,
    private readonly sources: readonly Source[],
    private readonly options: IngestionOptions = {},
  ) {
    const { quiet = 100, max = 10_000, clock = systemClock } = options;
    this.beginningQuiet = Math.min(quiet, longestQuiet);
    this.clock = clock;
    this.debounce = new Debounce({ quiet, max, clock, fire: () => this.next() });
    this.ready = this.start();
    this.ready.catch(() => undefined);
  }

  /** Everything that is wrong at present. */
  problems(): readonly Problem[] {
    return [...this.problemsOf.values()].flat();
  }

  /** The state of each source, in their order. */
  states(): readonly SourceState[] {
    return this.sources.map((source) => ({
      source,
      changed: this.changed.has(source),
      problems: this.problemsOf.get(source) ?? [],
    }));
  }

  /** Settles when whatever is being read now is committed. Does not wait for changes that are still being gathered. */
  async idle(): Promise<void> {
    await this.reading;
  }

  /** Whether something changed that is not committed yet. */
  get gathering(): boolean {
    return this.since !== undefined;
  }

  /** How many sources changed and are to be read, and how many objects are read and to be committed. */
  get waiting(): number {
    return this.changed.size + this.held.length;
  }

  /** Stops watching. The database keeps what it has. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.debounce.cancel();
    this.beginning?.flush();
    this.cancelPeek?.();
    for (const source of this.sources) source.stop();
    await this.reading.catch(() => undefined);
  }

  private async start(): Promise<void> {
    try {
      for (const source of this.sources) await source.start(() => this.note(source));
      const writes = await this.writes(this.sources);
      const until = this.clock.now() + longestBeginning;
      while ((this.changed.size > 0 || this.age < this.beginningQuiet) && !this.stopped && this.clock.now() < until) {
        await this.quiet(until);
        writes.push(...(await this.writes(this.takeChanged())));
      }
      if (!this.stopped) this.commit(writes, true);
      this.started = true;
    } catch (cause) {
      await this.stop();
      throw cause;
    }
    if (this.changed.size > 0) this.gather();
  }

  private note(source: Source): void {
    if (this.stopped) return;
    this.changed.add(source);
    if (this.started) this.gather();
    else this.beginning?.note();
  }

  /** Waits until nothing has changed for the quiet time, or as long as is allowed. */
  private async quiet(until: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.beginning = new Debounce({
        quiet: this.beginningQuiet,
        max: until - this.clock.now(),
        clock: this.clock,
        fire: resolve,
      });
      this.beginning.note();
    });
  }

  private takeChanged(): readonly Source[] {
    const changed = this.sources.filter((source) => this.changed.has(source));
    this.changed.clear();
    return changed;
  }

  private gather(): void {
    this.since ??= this.clock.now();
    this.debounce.note();
    if (this.options.atOnce !== undefined) this.cancelPeek ??= this.clock.after(together, () => this.peek());
  }

  /** Looks at what changed, and commits what need not wait. */
  private peek(): void {
    this.cancelPeek = undefined;
    this.queue(async (sources) => {
      const writes = await this.writes(sources);
      if (this.stopped) return;
      const urgent = writes.filter(
        (write) => this.options.atOnce?.(write, this.database.read(write.collection, write.key)) === true,
      );
      const isUrgent = new Set(urgent);
      this.held = [
        ...this.held.filter((w) => !urgent.some(({ collection, key }) => w.collection === collection && w.key === key)),
        ...writes.filter((w) => !isUrgent.has(w)),
      ];
      const over = this.held.length === 0 && this.changed.size === 0;
      if (over) this.debounce.cancel();
      if (over || urgent.length > 0) this.commit(urgent, over);
      else this.tell();
    });
  }

  private next(): void {
    this.queue((sources) => this.read(sources));
  }

  private queue(work: (sources: readonly Source[]) => Promise<void>): void {
    this.reading = this.reading.then(async () => {
      const sources = this.takeChanged();
      if (!this.stopped) await work(sources);
    });
  }

  private async read(sources: readonly Source[]): Promise<void> {
    const writes = await this.writes(sources);
    if (!this.stopped) this.commit([...this.held.splice(0), ...writes], this.changed.size === 0);
  }

  private async writes(sources: readonly Source[]): Promise<Write[]> {
    const from = this.clock.now();
    const updates = await Promise.all(sources.map(async (source) => ({ source, update: await source.read() })));
    for (const { source, update } of updates) this.problemsOf.set(source, update.problems);
    this.readingMs = this.clock.now() - from;
    this.age = Math.min(...updates.map(({ update }) => update.age ?? Infinity));
    return updates.flatMap(({ update }) => recordWrites((tx) => update.apply(tx)));
  }

  /** @param over whether nothing more is being gathered */
  private commit(writes: readonly Write[], over: boolean): void {
    const from = this.clock.now();
    const commit = this.database.commit((tx) => {
      for (const { collection, key, value } of writes) {
        if (value === undefined) tx.delete(collection, key);
        else tx.set(collection, key, value);
      }
    });
    const timing = {
      revision: commit.revision,
      gatheredMs: from - (this.since ?? from),
      committingMs: this.clock.now() - from,
      readingMs: this.readingMs,
    };
    if (over) this.since = undefined;
    this.tell();
    if (commit.changed.length > 0) this.options.onCommitTiming?.(timing);
  }

  private tell(): void {
    const now = new Map(this.problems().map((p) => [formatProblem(p), p]));
    const fresh = [...now].filter(([text]) => !this.told.has(text)).map(([, p]) => p);
    const gone = [...this.told].filter(([text]) => !now.has(text)).map(([, p]) => p);
    this.told = now;
    if (fresh.length > 0) this.options.onProblems?.(fresh);
    if (gone.length > 0) this.options.onResolved?.(gone);
  }
}
