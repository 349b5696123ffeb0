import type { SyncState } from "../ingestion/sync-state.js";

/** The text of one document, as last read. */
export interface PlacedText {
  /** Undefined: there is no document. */
  readonly text: string | undefined;
  /** Reason why the document cannot be read. Then there is no text. */
  readonly fault?: string;
}

/** A place that holds one document, such as a file or a key of a ConfigMap. */
export interface DocumentPlace {
  /** Name for messages, such as the path of the file. */
  readonly name: string;
  /**
   * Starts watching. `changed` is called whenever the text may differ from what was last read.
   *
   * @throws IngestionError if the place cannot be read at all.
   */
  start(changed: () => void): Promise<void>;
  /** Reads the current text. */
  read(): Promise<PlacedText>;
  /** Returns how current the text is. Default: synced. */
  syncState?(): SyncState;
  /** Stops watching. */
  stop(): void;
}
