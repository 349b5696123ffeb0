import type { Problem } from "@istiod/config-schema";
import type { Clock } from "@istiod/settings";
import type { Source } from "./source.js";
import { recordWrites, type Write } from "./write.js";

/** State of one source when it was last read. */
export interface SourceState {
  readonly source: Source;
  /** Reports whether the source changed since then. */
  readonly changed: boolean;
  readonly problems: readonly Problem[];
}

/** Result of reading several sources. */
export interface ReadResult {
  readonly writes: readonly Write[];
  /** Milliseconds that reading took. */
  readonly readMs: number;
  /** Milliseconds since the newest content that was read was written; Infinity if no source knows. */
  readonly contentAge: number;
}

/** The sources of an ingestion, with their changes and problems. */
export class SourceSet {
  readonly #sources: readonly Source[];
  readonly #clock: Clock;
  readonly #changed = new Set<Source>();
  readonly #problems = new Map<Source, readonly Problem[]>();

  constructor(sources: readonly Source[], clock: Clock) {
    this.#sources = sources;
    this.#clock = clock;
  }

  /** Starts watching all sources. `onChange` is called when one of them changed. */
  async start(onChange: () => void): Promise<void> {
    for (const source of this.#sources)
      await source.start(() => {
        this.#changed.add(source);
        onChange();
      });
  }

  /** Stops watching. */
  stop(): void {
    for (const source of this.#sources) source.stop();
  }

  /** Number of sources that changed and are not read yet. */
  get changedCount(): number {
    return this.#changed.size;
  }

  /** Returns the current problems of all sources. */
  problems(): readonly Problem[] {
    return [...this.#problems.values()].flat();
  }

  /** Returns the state of each source, in their order. */
  states(): readonly SourceState[] {
    return this.#sources.map((source) => ({
      source,
      changed: this.#changed.has(source),
      problems: this.#problems.get(source) ?? [],
    }));
  }

  /** Reads all sources. */
  readAll(): Promise<ReadResult> {
    return this.#read(this.#sources);
  }

  /** Reads the sources that changed, in their order. */
  readChanged(): Promise<ReadResult> {
    const changed = this.#sources.filter((source) => this.#changed.has(source));
    this.#changed.clear();
    return this.#read(changed);
  }

  async #read(sources: readonly Source[]): Promise<ReadResult> {
    const start = this.#clock.now();
    const updates = await Promise.all(sources.map(async (source) => ({ source, update: await source.read() })));
    for (const { source, update } of updates) this.#problems.set(source, update.problems);
    return {
      writes: updates.flatMap(({ update }) => recordWrites((tx) => update.apply(tx))),
      readMs: this.#clock.now() - start,
      contentAge: Math.min(...updates.map(({ update }) => update.age ?? Infinity)),
    };
  }
}
