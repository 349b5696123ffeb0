import type { Transaction } from "@istiod/incremental";
import type { Kind, Problem } from "@istiod/config-schema";
import type { Location } from "../ledger/ledger.js";
import type { SyncState } from "./sync-state.js";

/** Result of reading a source. */
export interface SourceUpdate {
  /** Writes the difference to the previous reading. */
  apply(tx: Transaction): void;
  /** All current problems of the source. */
  readonly problems: readonly Problem[];
  /** Milliseconds since the newest content that was read was written, if the source knows. */
  readonly age?: number;
}

/** Name of an object of a kind. */
export interface ObjectKey {
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** A place that configuration comes from. An `Ingestion` drives it, and reads it at most once at a time. */
export interface Source {
  /** Name for messages, such as a path or `cluster east`. Default: none. */
  readonly name?: string;
  /** ID of the cluster whose objects the source reads. Default: it reads no cluster. */
  readonly cluster?: string;
  /**
   * Starts watching, and resolves when the content can be read as a whole: a source that syncs over the network
   * resolves when it has synced. It may be called again after it has rejected. `changed` is called whenever the content
   * or the sync state may differ from what was last read.
   *
   * @throws IngestionError if the source cannot be read at all.
   */
  start(changed: () => void): Promise<void>;
  /**
   * Reads the content that may have changed; the first call reads everything. All sources are read together, so it must
   * not wait for the network.
   */
  read(): Promise<SourceUpdate>;
  /** Returns how current the content is, as the source sees it. Default: synced once it has started. */
  syncState?(): SyncState;
  /**
   * Returns the place that defines an accepted object, by its kind and its key in the kind's collection; undefined if
   * this source does not define it.
   */
  locate?(kind: Kind, key: string): Location | undefined;
  /** Returns why the source reads no object of a kind that it could have, as a clause; undefined if it reads them. */
  reasonUnread?(kind: Kind): string | undefined;
  /**
   * Asks the source whether the version of an object that it last announced by `changed`, or its absence, is the
   * latest. Default: edits are announced at once.
   *
   * @throws Error if the source cannot be asked
   */
  isCurrent?(kind: Kind, object: ObjectKey): Promise<boolean>;
  /** Stops watching. */
  stop(): void;
}
