import type { Transaction } from "@istiod/incremental";
import type { Problem, Kind } from "@istiod/config-schema";
import type { Location } from "./ledger.js";

/** What a source found when it was read. */
export interface SourceUpdate {
  /** Writes what differs since the last reading. */
  apply(tx: Transaction): void;
  /** Everything that is wrong at present. */
  readonly problems: readonly Problem[];
  /** Milliseconds since the last of what was read was written, if the source knows. */
  readonly age?: number;
}

/** A place that configuration comes from. An `Ingestion` drives it: it is never read twice at a time. */
export interface Source {
  /**
   * Begins to watch: `changed` is called whenever something may differ from what was read last. Throws `IngestionError`
   * where the source cannot be read at all.
   */
  start(changed: () => void): Promise<void>;
  /** Reads what may have changed. The first reading gives everything. */
  read(): Promise<SourceUpdate>;
  /**
   * Returns where an accepted object is defined, by its kind and its key in the kind's collection; undefined if not in
   * this source.
   */
  locate?(kind: Kind, key: string): Location | undefined;
  /** Stops watching. */
  stop(): void;
}
