import { type DecodeOptions, type Kind, applyChanges } from "@istiod/config-schema";
import { Ledger, type Location } from "../sources/ledger.js";
import type { Source, SourceUpdate } from "../sources/source.js";

/** A directory in memory: files are texts that a test sets. */
export class MemorySource implements Source {
  private readonly ledger: Ledger;
  private changed: () => void = () => undefined;

  constructor(options: DecodeOptions = {}) {
    this.ledger = new Ledger(options);
  }

  /** Writes a file whole. */
  set(file: string, yaml: string): void {
    this.ledger.replaceFile(file, yaml);
    this.changed();
  }

  remove(file: string): void {
    this.ledger.removeFile(file);
    this.changed();
  }

  async start(changed: () => void): Promise<void> {
    this.changed = changed;
  }

  async read(): Promise<SourceUpdate> {
    const changes = this.ledger.takeChanges();
    return { apply: (tx) => applyChanges(tx, changes), problems: this.ledger.problems() };
  }

  locate(kind: Kind, key: string): Location | undefined {
    return this.ledger.locate(kind, key);
  }

  stop(): void {
    this.changed = () => undefined;
  }
}
