import type { Problem } from "@istiod/config-schema";
import type { Clock } from "@istiod/runtime";
import type { Source } from "./source.js";
import type { SourceOptions } from "./source-set.js";
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

/** A source that an ingestion is created with, and how it is followed. */
export interface SourceEntry extends SourceOptions {
  readonly source: Source;
}
