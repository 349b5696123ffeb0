import type { Transaction } from "@istiod/incremental";
import type { Kind, Problem } from "@istiod/config-schema";
import type { Location } from "../ledger/ledger.js";

/** Result of reading a source. */
export interface SourceUpdate {
  /** Writes the difference to the previous reading. */
  apply(tx: Transaction): void;
  /** All current problems of the source. */
  readonly problems: readonly Problem[];
  /** Milliseconds since the newest content that was read was written, if the source knows. */
  readonly age?: number;
}

/** A place that configuration comes from. An `Ingestion` drives it, and reads it at most once at a time. */
export interface Source {
  /**
   * Starts watching. `changed` is called whenever the content may differ from what was last read.
   *
   * @throws IngestionError if the source cannot be read at all.
   */
  start(changed: () => void): Promise<void>;
  /** Reads the content that may have changed; the first call reads everything. */
  read(): Promise<SourceUpdate>;
  /**
   * Returns the place that defines an accepted object, by its kind and its key in the kind's collection; undefined if
   * this source does not define it.
   */
  locate?(kind: Kind, key: string): Location | undefined;
  /** Stops watching. */
  stop(): void;
}
