import type { Problem } from "@istiod/config-schema";
import type { SyncState } from "../ingestion/sync-state.js";
import type { OfferedClusters } from "./remote-clusters.js";

/** Place that the kubeconfigs of remote clusters are read from. */
export interface KubeconfigPlace {
  /** Name for messages. */
  readonly name: string;
  /** The place itself: a directory, or the Secrets of a namespace. */
  readonly location: string;
  /**
   * Starts watching, and resolves when all kubeconfigs are known. `changed` is called when the content or the sync
   * state may differ.
   *
   * @throws IngestionError if the place cannot be read at all
   */
  start(changed: () => void): Promise<void>;
  /** Returns what the Secrets or files give access to that changed since the last call, by their names. */
  read(): Promise<ReadonlyMap<string, OfferedClusters>>;
  /** Returns the Secrets or files that cannot be read. Default: none. */
  problems?(): readonly Problem[];
  /** Default: synced once it has started. */
  syncState?(): SyncState;
  stop(): void;
}
