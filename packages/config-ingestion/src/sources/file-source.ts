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
import { systemClock, type Clock } from "@istiod/settings";
import { isAbsent, reason } from "./file-system.js";
import type { Source, SourceUpdate } from "./source.js";
import { Watches } from "./watches.js";

export interface FileSourceOptions<V> {
  /** Path of the file; undefined where none is named, which is as an absent one. */
  readonly file: string | undefined;
  /** The value of a document; undefined if an error was reported. An absent file is an empty document. */
  read(document: unknown, report: Report): V | undefined;
  write(tx: Transaction, value: V): void;
  readonly clock?: Clock;
}

/**
 * One YAML file that holds one value. Absent at first, it means an empty document. A bad value at first is an error
 * that ends the start; later it is a problem, and the last good value stays in force, as it does when the file
 * disappears.
 */
export class FileSource<V> implements Source {
  private readonly file: string | undefined;
  private readonly watches: Watches;
  private text: string | undefined;
  private value: V | undefined;
  private neverThere = true;
  private problems: readonly Problem[] = [];

  constructor(private readonly options: FileSourceOptions<V>) {
    this.file = options.file === undefined || options.file === "" ? undefined : resolve(options.file);
    this.watches = new Watches(options.clock ?? systemClock, () => this.changed());
  }

  private changed: () => void = () => undefined;

  async start(changed: () => void): Promise<void> {
    this.changed = changed;
    if (this.file !== undefined) this.watches.renew(dirname(this.file));
  }

  async read(): Promise<SourceUpdate> {
    const before = this.value;
    await this.refresh();
    const { value } = this;
    if (value === undefined) throw new IngestionError("invalid", this.problems.map(formatProblem).join("\n"));
    return { apply: (tx) => (value === before ? undefined : this.options.write(tx, value)), problems: this.problems };
  }

  stop(): void {
    this.watches.closeAll();
  }

  private async refresh(): Promise<void> {
    const { file } = this;
    if (file === undefined) {
      this.value ??= this.accept("", "");
      return;
    }
    let text: string;
    try {
      text = await readFile(file, "utf8");
      const target = dirname(await realpath(file));
      this.watches.follow(dirname(file), new Set(target === dirname(file) ? [] : [target]));
    } catch (cause) {
      this.text = undefined;
      if (this.neverThere && isAbsent(cause)) this.value ??= this.accept("", file);
      else this.keep(file, reason(cause));
      return;
    }
    this.neverThere = false;
    if (text === this.text) return;
    this.text = text;
    if (this.value !== undefined && text.trim() === "") this.keep(file, "is empty (write {} for the defaults)");
    else this.value = this.accept(text, file) ?? this.value;
  }

  private keep(file: string, why: string): void {
    const message = this.value === undefined ? why : `${why}; the last good version stays in force`;
    this.problems = [{ severity: "error", file, line: 0, path: [], message }];
  }

  private accept(text: string, file: string): V | undefined {
    const parsed = parseYaml({ text, line: 1 });
    const problems: Problem[] = [];
    this.problems = problems;
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
    const note =
      (severity: Problem["severity"]): Report["error"] =>
      (path, message) =>
        void problems.push({ severity, file, line: parsed.lineOf(path), path, message });
    return this.options.read(parsed.value, { error: note("error"), warning: note("warning"), wordAt: parsed.wordAt });
  }
}

/** The file of the mesh configuration. Absent: Istio's defaults. */
export function meshConfigFile(file: string | undefined, clock?: Clock): Source {
  return new FileSource({
    file,
    read: (document, report) => applyMeshConfig(document, report),
    write: (tx, value) => tx.set(meshConfig, meshConfigKey, value),
    ...(clock && { clock }),
  });
}

/** The file of the mesh networks. Absent: none. */
export function meshNetworksFile(file: string | undefined, clock?: Clock): Source {
  return new FileSource({
    file,
    read: readMeshNetworks,
    write: (tx, value) => tx.set(meshNetworks, meshNetworksKey, value),
    ...(clock && { clock }),
  });
}
