import type { Commit, Database } from "@istiod/incremental";
import { formatProblem, type Problem } from "../documents/problem.js";
import { systemClock, type Clock } from "./clock.js";
import { Debounce } from "./debounce.js";
import type { Source } from "./source.js";

export interface IngestionOptions {
  /** A burst of changes is over when nothing changed for this many milliseconds. Default 100, as Istio's `PILOT_DEBOUNCE_AFTER`. */
  readonly quiet?: number;
  /** It is committed after this many milliseconds even if it goes on. Default 10,000, as Istio's `PILOT_DEBOUNCE_MAX`. */
  readonly max?: number;
  readonly clock?: Clock;
  /** Told what is newly wrong. A problem is told again only after it was gone. */
  onProblems?(problems: readonly Problem[]): void;
  /** Told what is no longer wrong. */
  onResolved?(problems: readonly Problem[]): void;
  /** Told of every commit that changed something. */
  onCommit?(commit: Commit): void;
}

/**
 * Reads sources into a database: everything in one commit at first, then one commit for each burst of changes, of whichever
 * sources. What did not really change is not written.
 */
export class Ingestion<C> {
  /** Settles when the first commit is made; rejects where a source cannot be read at all. */
  readonly ready: Promise<void>;
  private readonly changed = new Set<Source>();
  private readonly problemsOf = new Map<Source, readonly Problem[]>();
  private readonly debounce: Debounce;
  private told = new Map<string, Problem>();
  private started = false;
  private stopped = false;
  private reading: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database<C>,
    private readonly sources: readonly Source[],
    private readonly options: IngestionOptions = {},
  ) {
    const { quiet = 100, max = 10_000, clock = systemClock } = options;
    this.debounce = new Debounce({ quiet, max, clock, fire: () => this.next() });
    this.ready = this.start();
    this.ready.catch(() => undefined);
  }

  /** Everything that is wrong at present. */
  problems(): readonly Problem[] {
    return [...this.problemsOf.values()].flat();
  }

  /** Settles when whatever is being read now is committed. Does not wait for changes that are still being gathered. */
  async idle(): Promise<void> {
    await this.reading;
  }

  /** Stops watching. The database keeps what it has. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.debounce.cancel();
    for (const source of this.sources) source.stop();
    await this.reading.catch(() => undefined);
  }

  private async start(): Promise<void> {
    try {
      for (const source of this.sources) await source.start(() => this.note(source));
      await this.read(this.sources);
      this.started = true;
    } catch (cause) {
      await this.stop();
      throw cause;
    }
    if (this.changed.size > 0) this.debounce.note();
  }

  private note(source: Source): void {
    if (this.stopped) return;
    this.changed.add(source);
    if (this.started) this.debounce.note();
  }

  private next(): void {
    this.reading = this.reading.then(async () => {
      const sources = this.sources.filter((s) => this.changed.has(s));
      this.changed.clear();
      if (!this.stopped) await this.read(sources);
    });
  }

  private async read(sources: readonly Source[]): Promise<void> {
    const updates = await Promise.all(sources.map(async (source) => ({ source, update: await source.read() })));
    if (this.stopped) return;
    const commit = this.database.commit((tx) => {
      for (const { update } of updates) update.apply(tx);
    });
    for (const { source, update } of updates) this.problemsOf.set(source, update.problems);
    this.tell();
    if (commit.changed.length > 0) this.options.onCommit?.(commit);
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
