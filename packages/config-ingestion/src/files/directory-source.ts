import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import {
  allKinds,
  applyChanges,
  type Kind,
  PolicyScanner,
  type Problem,
  type UnparsedPolicyOptions,
} from "@istiod/config-schema";
import { IngestionError } from "../errors.js";
import { type Clock, type Pause, pauseEvery } from "@istiod/runtime";
import { processClock } from "../ingestion/process-clock.js";
import { DirectoryTree } from "./directory-tree.js";
import { describeError, isAbsent } from "./file-system.js";
import { TooManyDocumentsError } from "../ledger/file-documents.js";
import { Ledger, type Location } from "../ledger/ledger.js";
import type { RejectedPolicy } from "../ledger/stored-versions.js";
import { StoredPolicies } from "../state/stored-policies.js";
import {
  type FileContent,
  OversizedFileError,
  readRegularFile,
  scanRegularFile,
  UnusableFileError,
} from "./read-regular-file.js";
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
  /** Directory of the last good versions of policies, which replicas may share. Default: they are kept in memory. */
  readonly stateDirectory?: string;
  readonly limits?: FileLimits;
  readonly clock?: Clock;
}

/** Bounds of each file. A file that exceeds one is rejected as a whole. */
export interface FileLimits {
  /** Default 64 MiB. */
  readonly maxBytes?: number;
  /** Default 100,000. */
  readonly maxDocuments?: number;
}

/** Milliseconds of parsing after which other work runs. */
const sliceMs = 25;

/** Bytes of an oversized file that are searched for policies. */
const maxScannedBytes = 1024 * 1024 * 1024;

/** Number of files read at a time. */
const parallelReads = 16;

/** Milliseconds in which a file that became empty may be filled again before its objects are removed. */
const emptyFileGrace = 500;

/**
 * The `.yaml` and `.yml` files below a directory, at any depth. Names that begin with a dot are skipped. Handles files
 * that are replaced by renaming or half written, links that are repointed, and directories that come and go.
 */
export class DirectorySource implements Source {
  readonly name: string;
  readonly cluster: string;
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #watches: Watches;
  readonly #tree: DirectoryTree;
  readonly #ledger: Ledger;
  /** Files that became empty, each with its grace period. */
  readonly #emptied = new Map<string, GracePeriod>();
  #parentWatch: { close(): void } | undefined;
  readonly #limits: Required<FileLimits>;
  readonly #scanOptions: UnparsedPolicyOptions;
  readonly #policies: StoredPolicies;
  #notify: () => void = () => undefined;

  constructor(options: DirectorySourceOptions) {
    const { directory, cluster, kinds = allKinds, revision = "", clock = processClock } = options;
    const { maxBytes = 64 * 1024 * 1024, maxDocuments = 100_000 } = options.limits ?? {};
    this.#limits = { maxBytes, maxDocuments };
    this.cluster = cluster ?? "Kubernetes";
    this.#scanOptions = { cluster: this.cluster, kinds, revision };
    this.name = this.#directory = resolve(directory);
    this.#clock = clock;
    this.#watches = new Watches(clock, (path, name) => this.#onChange(path, name));
    this.#tree = new DirectoryTree(this.#directory, this.#watches);
    this.#policies = new StoredPolicies(
      { directory: this.#directory, faults: () => this.#tree.faults() },
      options.stateDirectory === undefined
        ? undefined
        : { directory: options.stateDirectory, cluster: this.#scanOptions.cluster, revision, clock },
    );
    const stored = this.#policies.versions;
    this.#ledger = new Ledger({
      kinds,
      revision,
      ...(cluster !== undefined && { cluster }),
      ...(stored !== undefined && { stored }),
    });
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
    await this.#policies.start(changed);
  }

  async read(): Promise<SourceUpdate> {
    const { changed, removed, unreadable, writtenAt } = await this.#tree.scan();
    for (const file of removed) {
      this.#endGracePeriod(file);
      this.#forgetFile(file);
    }
    for (const [file, reason] of unreadable) {
      this.#policies.requireKnown(file, reason);
      this.#ledger.markUnreadable(file, reason);
    }
    const pause = pauseEvery(sliceMs);
    for (let i = 0; i < changed.length; i += parallelReads) {
      const files = changed.slice(i, i + parallelReads);
      const contents = await Promise.all(files.map((file) => this.#readFile(file)));
      for (const [at, file] of files.entries())
        await this.#record(file, contents[at] ?? new Error("was not read"), pause);
    }
    await this.#policies.consult(this.#ledger);
    const changes = this.#ledger.takeChanges();
    await this.#policies.store(this.#ledger);
    return {
      apply: (tx) => applyChanges(tx, changes),
      problems: this.problems(),
      age: Math.max(0, Date.now() - writtenAt),
    };
  }

  stop(): void {
    this.#parentWatch?.close();
    this.#watches.closeAll();
    this.#policies.stop();
    for (const { cancel } of this.#emptied.values()) cancel();
    this.#emptied.clear();
  }

  /** Returns all current problems. */
  problems(): readonly Problem[] {
    const ofFiles = (severity: Problem["severity"], faults: ReadonlyMap<string, string>): Problem[] =>
      [...faults].map(([file, message]) => ({ severity, file, line: 0, path: [], message }));
    return [
      ...ofFiles("error", this.#tree.faults()),
      ...ofFiles("warning", this.#tree.unusable()),
      ...ofFiles("warning", this.#watches.faults()),
      ...this.#policies.problems(),
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

  /** Returns the rejected objects of kinds that restrict, with what applies instead. */
  rejectedPolicies(): readonly RejectedPolicy[] {
    return this.#ledger.rejectedPolicies();
  }

  #onChange(directory: string, name?: string): void {
    this.#tree.markDirty(directory, name);
    this.#notify();
  }

  async #readFile(file: string): Promise<FileContent | Error> {
    try {
      return await readRegularFile(file, this.#limits.maxBytes);
    } catch (cause) {
      return cause instanceof Error ? cause : new Error(String(cause));
    }
  }

  async #record(file: string, content: FileContent | Error, pause: Pause): Promise<void> {
    if (content instanceof Error) {
      await this.#recordFault(file, content);
      return;
    }
    const { text, state } = content;
    if (this.#ledger.hasDefinitions(file) && text.trim() === "" && this.#emptied.get(file)?.isOver !== true) {
      this.#tree.reread(file);
      this.#startGracePeriod(file);
      return;
    }
    this.#endGracePeriod(file);
    this.#policies.fileRead(file, state);
    try {
      await this.#ledger.replaceFileInSlices(file, text, { maxDocuments: this.#limits.maxDocuments, pause });
    } catch (cause) {
      if (!(cause instanceof TooManyDocumentsError)) throw cause;
      await this.#rejectFile(file, cause);
    }
  }

  async #recordFault(file: string, fault: Error): Promise<void> {
    if (fault instanceof OversizedFileError) {
      await this.#rejectFile(file, fault);
      return;
    }
    this.#tree.reread(file);
    if (isAbsent(fault)) {
      this.#forgetFile(file);
      return;
    }
    if (fault instanceof UnusableFileError) {
      this.#ledger.markUnreadable(file, fault.message);
      this.#startGracePeriod(file);
      return;
    }
    const reason = describeError(fault);
    this.#policies.requireKnown(file, reason);
    this.#ledger.markUnreadable(file, reason);
  }

  /** Rejects a file that exceeds a limit. The policies that it appears to define fail closed. */
  async #rejectFile(file: string, fault: Error): Promise<void> {
    const scanner = new PolicyScanner(this.#scanOptions);
    await scanRegularFile(file, maxScannedBytes, (chunk) => scanner.add(chunk)).catch(() => undefined);
    this.#ledger.markUnreadable(file, `${fault.message}; its last good objects stay active`, scanner.end());
  }

  #forgetFile(file: string): void {
    this.#ledger.removeFile(file);
    this.#policies.fileRemoved(file);
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
