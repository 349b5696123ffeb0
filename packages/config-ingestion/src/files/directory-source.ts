import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type Problem, allKinds, applyChanges, type Kind } from "@istiod/config-schema";
import { IngestionError } from "../errors.js";
import type { Clock } from "@istiod/settings";
import { processClock } from "../ingestion/process-clock.js";
import { DirectoryTree } from "./directory-tree.js";
import { describeError, isAbsent } from "./file-system.js";
import { Ledger, type Location } from "../ledger/ledger.js";
import type { Source, SourceUpdate } from "../ingestion/source.js";
import { Watches } from "./watches.js";

export interface DirectorySourceOptions {
  readonly directory: string;
  /** ID of the cluster that the directory represents. Default `Kubernetes`, istiod's own. */
  readonly cluster?: string;
  /**
   * Kinds to read. Default: all. Use `remoteKinds` for clusters that do not hold the mesh's configuration.
   */
  readonly kinds?: readonly Kind[];
  /**
   * Revision of this control plane: Istio's objects that are labelled with another (`istio.io/rev`) are ignored.
   * Default: empty, all are read.
   */
  readonly revision?: string;
  readonly clock?: Clock;
}

/** Number of files read at a time. */
const parallelReads = 16;

/** Milliseconds in which a file that became empty may be filled again before its objects are removed. */
const emptyFileGrace = 500;

/**
 * The `.yaml` and `.yml` files below a directory, at any depth. Names that begin with a dot are skipped. Handles files
 * that are replaced by renaming or half written, links that are repointed, and directories that come and go.
 */
export class DirectorySource implements Source {
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #watches: Watches;
  readonly #tree: DirectoryTree;
  readonly #ledger: Ledger;
  /** Files that became empty, each with its grace period. */
  readonly #emptied = new Map<string, GracePeriod>();
  #parentWatch: { close(): void } | undefined;
  #notify: () => void = () => undefined;

  constructor(options: DirectorySourceOptions) {
    const { directory, cluster, kinds = allKinds, revision = "", clock = processClock } = options;
    this.#directory = resolve(directory);
    this.#clock = clock;
    this.#watches = new Watches(clock, (path, name) => this.#onChange(path, name));
    this.#tree = new DirectoryTree(this.#directory, this.#watches);
    this.#ledger = new Ledger({ kinds, revision, ...(cluster !== undefined && { cluster }) });
  }

  async start(changed: () => void): Promise<void> {
    this.#notify = changed;
    const stats = await stat(this.#directory).catch((cause: unknown) => {
      throw new IngestionError(
        "unreadable",
        `${this.#directory} ${describeError(cause)}, expected a directory of YAML files`,
        {
          cause,
        },
      );
    });
    if (!stats.isDirectory())
      throw new IngestionError(
        "unreadable",
        `${this.#directory} is not a directory, expected a directory of YAML files`,
      );
    this.#parentWatch = this.#watches.watchParent(this.#directory);
  }

  async read(): Promise<SourceUpdate> {
    const { changed, removed, writtenAt } = await this.#tree.scan();
    const texts = await readAll(changed);
    for (const file of removed) {
      this.#endGracePeriod(file);
      this.#ledger.removeFile(file);
    }
    for (const [file, text] of texts) this.#record(file, text);
    const changes = this.#ledger.takeChanges();
    return {
      apply: (tx) => applyChanges(tx, changes),
      problems: this.problems(),
      age: Math.max(0, Date.now() - writtenAt),
    };
  }

  stop(): void {
    this.#parentWatch?.close();
    this.#watches.closeAll();
    for (const { cancel } of this.#emptied.values()) cancel();
    this.#emptied.clear();
  }

  /** Returns all current problems. */
  problems(): readonly Problem[] {
    const ofFiles = (severity: Problem["severity"], faults: ReadonlyMap<string, string>): Problem[] =>
      [...faults].map(([file, message]) => ({ severity, file, line: 0, path: [], message }));
    return [
      ...ofFiles("error", this.#tree.faults()),
      ...ofFiles("warning", this.#watches.faults()),
      ...this.#ledger.problems(),
    ];
  }

  /** Returns the number of active objects of each kind. */
  counts(): ReadonlyMap<string, number> {
    return this.#ledger.counts();
  }

  /** Returns the number of objects of each kind that is not read. */
  ignored(): ReadonlyMap<string, number> {
    return this.#ledger.ignored();
  }

  /** Returns the place that defines an object, by its kind and its key in the kind's collection. */
  locate(kind: Kind, key: string): Location | undefined {
    return this.#ledger.locate(kind, key);
  }

  #onChange(directory: string, name?: string): void {
    this.#tree.markDirty(directory, name);
    this.#notify();
  }

  #record(file: string, text: string | Error): void {
    if (text instanceof Error) {
      this.#tree.reread(file);
      if (isAbsent(text)) this.#ledger.removeFile(file);
      else this.#ledger.markUnreadable(file, describeError(text));
      return;
    }
    if (this.#ledger.hasDefinitions(file) && text.trim() === "" && this.#emptied.get(file)?.isOver !== true) {
      this.#tree.reread(file);
      this.#startGracePeriod(file);
      return;
    }
    this.#endGracePeriod(file);
    this.#ledger.replaceFile(file, text);
  }

  #startGracePeriod(file: string): void {
    if (this.#emptied.has(file)) return;
    const period: GracePeriod = {
      isOver: false,
      cancel: this.#clock.after(emptyFileGrace, () => {
        period.isOver = true;
        this.#notify();
      }),
    };
    this.#emptied.set(file, period);
  }

  #endGracePeriod(file: string): void {
    this.#emptied.get(file)?.cancel();
    this.#emptied.delete(file);
  }
}

/** The time in which an empty file keeps its objects. */
interface GracePeriod {
  isOver: boolean;
  readonly cancel: () => void;
}

async function readAll(files: readonly string[]): Promise<ReadonlyMap<string, string | Error>> {
  const texts = new Map<string, string | Error>();
  for (const file of files) texts.set(file, "");
  const queue = [...files];
  const reader = async (): Promise<void> => {
    for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
      texts.set(
        file,
        await readFile(file, "utf8").catch((cause: unknown) =>
          cause instanceof Error ? cause : new Error(String(cause)),
        ),
      );
    }
  };
  await Promise.all(Array.from({ length: parallelReads }, reader));
  return texts;
}
