import { readFile, realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Clock } from "@istiod/runtime";
import { describeError, isAbsent } from "../files/file-system.js";
import { Watches } from "../files/watches.js";
import { processClock } from "../ingestion/process-clock.js";
import type { DocumentPlace, PlacedText } from "./document-place.js";

/** A file that holds one document. It may be created and deleted, and symbolic links may change. */
export class FilePlace implements DocumentPlace {
  readonly name: string;
  readonly #watches: Watches;
  #changed: () => void = () => undefined;

  constructor(file: string, clock: Clock = processClock) {
    this.name = resolve(file);
    this.#watches = new Watches(clock, () => this.#changed());
  }

  async start(changed: () => void): Promise<void> {
    this.#changed = changed;
    this.#watches.renew(dirname(this.name));
  }

  async read(): Promise<PlacedText> {
    const directory = dirname(this.name);
    try {
      const text = await readFile(this.name, "utf8");
      const target = dirname(await realpath(this.name));
      this.#watches.follow(directory, new Set(target === directory ? [] : [target]));
      return { text };
    } catch (cause) {
      return isAbsent(cause) ? { text: undefined } : { text: undefined, fault: describeError(cause) };
    }
  }

  stop(): void {
    this.#watches.closeAll();
  }
}
