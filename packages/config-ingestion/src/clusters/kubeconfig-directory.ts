import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Problem } from "@istiod/config-schema";
import type { Clock } from "@istiod/runtime";
import { IngestionError } from "../errors.js";
import { DirectoryTree } from "../files/directory-tree.js";
import { describeError, isAbsent } from "../files/file-system.js";
import { readRegularFile } from "../files/read-regular-file.js";
import { Watches } from "../files/watches.js";
import { processClock } from "../ingestion/process-clock.js";
import type { KubeconfigPlace } from "./kubeconfig-place.js";
import type { OfferedClusters } from "./remote-clusters.js";
import { clusterOfKubeconfig } from "./untrusted-kubeconfig.js";

const maxBytes = 1024 * 1024;

/**
 * The `.yaml` and `.yml` files below a directory, each a kubeconfig of one cluster: see `clusterOfKubeconfig`. Files
 * and directories that cannot be read for a while keep their clusters.
 */
export class KubeconfigDirectory implements KubeconfigPlace {
  readonly name: string;
  readonly location: string;
  readonly #directory: string;
  readonly #watches: Watches;
  readonly #tree: DirectoryTree;
  /** Cluster of each file when it was last valid. */
  readonly #clusterOf = new Map<string, string>();
  #unreadable = new Map<string, string>();
  #parentWatch: { close(): void } | undefined;
  #notify: () => void = () => undefined;

  constructor(directory: string, clock: Clock = processClock) {
    this.#directory = resolve(directory);
    this.location = this.#directory;
    this.name = `kubeconfigs of remote clusters in ${this.#directory}`;
    this.#watches = new Watches(clock, (path, name) => {
      this.#tree.markDirty(path, name);
      this.#notify();
    });
    this.#tree = new DirectoryTree(this.#directory, this.#watches);
  }

  async start(changed: () => void): Promise<void> {
    this.#notify = changed;
    const stats = await stat(this.#directory).catch((cause: unknown) => {
      throw new IngestionError("unreadable", `${this.name}: the directory ${describeError(cause)}`, { cause });
    });
    if (!stats.isDirectory()) throw new IngestionError("unreadable", `${this.name}: is not a directory`);
    this.#parentWatch = this.#watches.watchParent(this.#directory);
  }

  async read(): Promise<ReadonlyMap<string, OfferedClusters>> {
    const { changed, removed, unreadable } = await this.#tree.scan();
    const offered = new Map<string, OfferedClusters>();
    this.#unreadable = new Map(unreadable);
    for (const file of removed) this.#forget(file, offered);
    for (const file of changed) {
      try {
        const { text } = await readRegularFile(file, maxBytes);
        offered.set(file, this.#clusterIn(file, text));
      } catch (cause) {
        this.#tree.reread(file);
        if (isAbsent(cause)) this.#forget(file, offered);
        else this.#unreadable.set(file, describeError(cause));
      }
    }
    return offered;
  }

  problems(): readonly Problem[] {
    return [...this.#tree.faults(), ...this.#unreadable].map(([file, message]) => ({
      severity: "error",
      file,
      line: 0,
      path: [],
      message: `${message}; the last good kubeconfig stays active`,
    }));
  }

  stop(): void {
    this.#parentWatch?.close();
    this.#watches.closeAll();
  }

  #forget(file: string, offered: Map<string, OfferedClusters>): void {
    this.#clusterOf.delete(file);
    offered.set(file, undefined);
  }

  /** Returns the kubeconfig by its cluster. One without a cluster is of that of the file's last valid text. */
  #clusterIn(file: string, text: string): ReadonlyMap<string, string> {
    let cluster: string;
    try {
      cluster = clusterOfKubeconfig(text);
      this.#clusterOf.set(file, cluster);
    } catch (error) {
      if (!(error instanceof IngestionError)) throw error;
      cluster = this.#clusterOf.get(file) ?? "";
    }
    return new Map([[cluster, text]]);
  }
}
