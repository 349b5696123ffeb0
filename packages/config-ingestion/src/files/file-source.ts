import { readFile, realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Transaction } from "@istiod/incremental";
import {
  type Problem,
  formatProblem,
  type Report,
  parseYaml,
  applyMeshConfig,
  meshConfig,
  meshConfigKey,
  meshNetworks,
  meshNetworksKey,
  readMeshNetworks,
} from "@istiod/config-schema";
import { IngestionError } from "../errors.js";
import type { Clock } from "@istiod/settings";
import { processClock } from "../ingestion/process-clock.js";
import { describeError, isAbsent } from "./file-system.js";
import type { Source, SourceUpdate } from "../ingestion/source.js";
import { Watches } from "./watches.js";

export interface FileSourceOptions<V> {
  /** Path of the file. Undefined or empty: treated as an absent file. */
  readonly file: string | undefined;
  /** Decodes a document; returns undefined if it reported an error. An absent file is an empty document. */
  read(document: unknown, report: Report): V | undefined;
  write(tx: Transaction, value: V): void;
  readonly clock?: Clock;
}

/**
 * A YAML file that holds one value. An absent file is an empty document at startup. An invalid value at startup is an
 * error. Later it is a problem, and the last good value stays active, also when the file disappears.
 */
export class FileSource<V> implements Source {
  readonly #file: string | undefined;
  readonly #watches: Watches;
  #text: string | undefined;
  #value: V | undefined;
  #neverExisted = true;
  #problems: readonly Problem[] = [];

  readonly #options: FileSourceOptions<V>;

  constructor(options: FileSourceOptions<V>) {
    this.#options = options;
    this.#file = options.file === undefined || options.file === "" ? undefined : resolve(options.file);
    this.#watches = new Watches(options.clock ?? processClock, () => this.#changed());
  }

  #changed: () => void = () => undefined;

  async start(changed: () => void): Promise<void> {
    this.#changed = changed;
    if (this.#file !== undefined) this.#watches.renew(dirname(this.#file));
  }

  async read(): Promise<SourceUpdate> {
    const before = this.#value;
    await this.#readFile();
    const value = this.#value;
    if (value === undefined) throw new IngestionError("invalid", this.#problems.map(formatProblem).join("\n"));
    return { apply: (tx) => (value === before ? undefined : this.#options.write(tx, value)), problems: this.#problems };
  }

  stop(): void {
    this.#watches.closeAll();
  }

  async #readFile(): Promise<void> {
    const file = this.#file;
    if (file === undefined) {
      this.#value ??= this.#decode("", "");
      return;
    }
    let text: string;
    try {
      text = await readFile(file, "utf8");
      const target = dirname(await realpath(file));
      this.#watches.follow(dirname(file), new Set(target === dirname(file) ? [] : [target]));
    } catch (cause) {
      this.#text = undefined;
      if (this.#neverExisted && isAbsent(cause)) this.#value ??= this.#decode("", file);
      else this.#keepLastGood(file, describeError(cause));
      return;
    }
    this.#neverExisted = false;
    if (text === this.#text) return;
    this.#text = text;
    if (this.#value !== undefined && text.trim() === "")
      this.#keepLastGood(file, "is empty (write {} for the defaults)");
    else this.#value = this.#decode(text, file) ?? this.#value;
  }

  #keepLastGood(file: string, reason: string): void {
    const message = this.#value === undefined ? reason : `${reason}; the last good version stays active`;
    this.#problems = [{ severity: "error", file, line: 0, path: [], message }];
  }

  #decode(text: string, file: string): V | undefined {
    const parsed = parseYaml({ text, line: 1 });
    const problems: Problem[] = [];
    this.#problems = problems;
    if ("message" in parsed) {
      problems.push({
        severity: "error",
        file,
        line: parsed.line,
        path: [],
        message: `is not YAML: ${parsed.message}`,
      });
      return undefined;
    }
    const add =
      (severity: Problem["severity"]): Report["error"] =>
      (path, message) =>
        void problems.push({ severity, file, line: parsed.lineOf(path), path, message });
    return this.#options.read(parsed.value, { error: add("error"), warning: add("warning"), wordAt: parsed.wordAt });
  }
}

/** Returns the source of the mesh configuration file. An absent file yields Istio's defaults. */
export function meshConfigFile(file: string | undefined, clock?: Clock): Source {
  return new FileSource({
    file,
    read: (document, report) => applyMeshConfig(document, report),
    write: (tx, value) => tx.set(meshConfig, meshConfigKey, value),
    ...(clock && { clock }),
  });
}

/** Returns the source of the mesh networks file. An absent file yields no networks. */
export function meshNetworksFile(file: string | undefined, clock?: Clock): Source {
  return new FileSource({
    file,
    read: readMeshNetworks,
    write: (tx, value) => tx.set(meshNetworks, meshNetworksKey, value),
    ...(clock && { clock }),
  });
}
