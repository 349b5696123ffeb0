import type { SyncState } from "../ingestion/sync-state.js";
import type { DocumentPlace, PlacedText } from "../mesh/document-place.js";

/** A place whose text is set by a test. */
export class MemoryPlace implements DocumentPlace {
  readonly name: string;
  #read: PlacedText;
  #sync: SyncState = { state: "synced" };
  #changed: () => void = () => undefined;

  constructor(name: string, text?: string) {
    this.name = name;
    this.#read = { text };
  }

  /** Sets the text; undefined: there is no document. */
  set(text: string | undefined): void {
    this.#read = { text };
    this.#changed();
  }

  /** Makes the place unreadable. */
  fail(fault: string): void {
    this.#read = { text: undefined, fault };
    this.#changed();
  }

  /** Sets how current the text is. */
  setSync(sync: SyncState): void {
    this.#sync = sync;
    this.#changed();
  }

  syncState(): SyncState {
    return this.#sync;
  }

  async start(changed: () => void): Promise<void> {
    this.#changed = changed;
  }

  async read(): Promise<PlacedText> {
    return this.#read;
  }

  stop(): void {
    this.#changed = () => undefined;
  }
}
