import { type DecodeOptions, type Kind, applyChanges } from "@istiod/config-schema";
import { Ledger, type Location } from "../ledger/ledger.js";
import type { Source, SourceUpdate } from "../ingestion/source.js";

/** A source of files in memory, for tests. */
export class MemorySource implements Source {
  readonly #ledger: Ledger;
  #notify: () => void = () => undefined;

  constructor(options: DecodeOptions = {}) {
    this.#ledger = new Ledger(options);
  }

  /** Replaces a file. */
  set(file: string, yaml: string): void {
    this.#ledger.replaceFile(file, yaml);
    this.#notify();
  }

  remove(file: string): void {
    this.#ledger.removeFile(file);
    this.#notify();
  }

  async start(changed: () => void): Promise<void> {
    this.#notify = changed;
  }

  async read(): Promise<SourceUpdate> {
    const changes = this.#ledger.takeChanges();
    return { apply: (tx) => applyChanges(tx, changes), problems: this.#ledger.problems() };
  }

  locate(kind: Kind, key: string): Location | undefined {
    return this.#ledger.locate(kind, key);
  }

  stop(): void {
    this.#notify = () => undefined;
  }
}
