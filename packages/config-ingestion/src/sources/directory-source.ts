import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type Problem, allKinds, applyChanges, type Kind } from "@istiod/config-schema";
import { IngestionError } from "../errors.js";
import { systemClock, type Clock } from "@istiod/settings";
import { DirectoryTree } from "./directory-tree.js";
import { isAbsent, reason } from "./file-system.js";
import { Ledger, type Location } from "./ledger.js";
import {} from "./load-directory.js";
import type { Source, SourceUpdate } from "./source.js";
import { Watches } from "./watches.js";

export interface DirectorySourceOptions {
  readonly directory: string;
  /** ID of the cluster that the directory stands for. Default `Kubernetes`, as istiod's own. */
  readonly cluster?: string;
  /**
   * The kinds that are read. Default: all. `remoteKinds` for the clusters of a mesh that do not hold its configuration.
   */
  readonly kinds?: readonly Kind[];
  /**
   * Objects of Istio's that are labelled as another revision's (`istio.io/rev`) are ignored. Default: empty, all are
   * read.
   */
  readonly revision?: string;
  readonly clock?: Clock;
}

/** How many files are read at a time. */
const parallelReads = 16;

/** How long a file that became empty is given to be filled, in milliseconds, before what it held is removed. */
const emptyFileGrace = 500;

/**
 * The `.yaml` and `.yml` files below a directory, at any depth. Names that begin with a dot are left out. Survives
 * files replaced by renaming, files that are half written, links that are swapped, and directories that come and go.
 */
export class DirectorySource implements Source {
  private readonly directory: string;
  private readonly clock: Clock;
  private readonly watches: Watches;
  private readonly tree: DirectoryTree;
  private readonly ledger: Ledger;
  private readonly emptied = new Map<string, () => void>();
  private parentWatch: { close(): void } | undefined;
  private changed: () => void = () => undefined;

  constructor(options: DirectorySourceOptions) {
    const { directory, cluster, kinds = allKinds, revision = "", clock = systemClock } = options;
    this.directory = resolve(directory);
    this.clock = clock;
    this.watches = new Watches(clock, (path, name) => this.note(path, name));
    this.tree = new DirectoryTree(this.directory, this.watches);
    this.ledger = new Ledger({ kinds, revision, ...(cluster !== undefined && { cluster }) });
  }

  async start(changed: () => void): Promise<void> {
    this.changed = changed;
    const stats = await stat(this.directory).catch((cause: unknown) => {
      throw new IngestionError("unreadable", `${this.directory} ${reason(cause)}, expected a directory of YAML files`, {
        cause,
      });
    });
    if (!stats.isDirectory())
      throw new IngestionError("unreadable", `${this.directory} is no directory, expected a directory of YAML files`);
    this.parentWatch = this.watches.watchParent(this.directory);
  }

  async read(): Promise<SourceUpdate> {
    const { changed, removed, writtenAt } = await this.tree.scan();
    const texts = await readAll(changed);
    for (const file of removed) {
      this.settle(file);
      this.ledger.removeFile(file);
    }
    for (const [file, text] of texts) this.take(file, text);
    const changes = this.ledger.takeChanges();
    return {
      apply: (tx) => applyChanges(tx, changes),
      problems: this.problems(),
      age: Math.max(0, Date.now() - writtenAt),
    };
  }

  stop(): void {
    this.parentWatch?.close();
    this.watches.closeAll();
    for (const cancel of this.emptied.values()) cancel();
    this.emptied.clear();
  }

  /** Everything that is wrong at present. */
  problems(): readonly Problem[] {
    const whole = (severity: Problem["severity"], faults: ReadonlyMap<string, string>): Problem[] =>
      [...faults].map(([file, message]) => ({ severity, file, line: 0, path: [], message }));
    return [
      ...whole("error", this.tree.faults()),
      ...whole("warning", this.watches.faults()),
      ...this.ledger.problems(),
    ];
  }

  /** How many objects of each kind are in force. */
  counts(): ReadonlyMap<string, number> {
    return this.ledger.counts();
  }

  /** How many objects of kinds that are not read there are, by kind. */
  ignored(): ReadonlyMap<string, number> {
    return this.ledger.ignored();
  }

  /** Where an object stands, by its kind and its key in the kind's collection. */
  locate(kind: Kind, key: string): Location | undefined {
    return this.ledger.locate(kind, key);
  }

  private note(directory: string, name?: string): void {
    this.tree.note(directory, name);
    this.changed();
  }

  private take(file: string, text: string | Error): void {
    if (text instanceof Error) {
      this.tree.forget(file);
      if (isAbsent(text)) this.ledger.removeFile(file);
      else this.ledger.setAside(file, reason(text));
      return;
    }
    const held = this.ledger.holds(file);
    if (held && text.trim() === "" && !this.emptied.has(file)) {
      this.tree.forget(file);
      this.emptied.set(
        file,
        this.clock.after(emptyFileGrace, () => this.changed()),
      );
      return;
    }
    this.settle(file);
    this.ledger.replaceFile(file, text);
  }

  private settle(file: string): void {
    this.emptied.get(file)?.();
    this.emptied.delete(file);
  }
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
