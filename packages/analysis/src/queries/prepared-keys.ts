import type { Database } from "@istiod/incremental";
import { type WorkloadSource, workloadSources } from "./workload-sources.js";

/**
 * The keys by which an index finds workloads, computed one workload at a time before the index is built, which happens
 * at once. They are kept until then only.
 */
export class PreparedKeys {
  readonly #keysOf: (source: WorkloadSource, workload: object) => readonly string[];
  #prepared = new WeakMap<object, readonly string[]>();

  /** @param keysOf returns the keys of a workload */
  constructor(keysOf: (source: WorkloadSource, workload: object) => readonly string[]) {
    this.#keysOf = keysOf;
  }

  /** Returns the keys of a workload. */
  of(source: WorkloadSource, workload: object): readonly string[] {
    return this.#prepared.get(workload) ?? this.#keysOf(source, workload);
  }

  /** Computes the keys of each workload, and yields after each. */
  *prepare(database: Pick<Database<unknown>, "keys" | "read">): Generator<void> {
    for (const source of workloadSources)
      for (const key of database.keys(source.of)) {
        const workload = database.read(source.of, key) as object | undefined;
        if (workload !== undefined) yield void this.#prepared.set(workload, this.#keysOf(source, workload));
      }
  }

  /** Forgets the prepared keys, which an index has read. */
  forget(): void {
    this.#prepared = new WeakMap();
  }
}
