import type { Database } from "@istiod/incremental";
import { secretClusters } from "@istiod/push-context";

/** A change of a cluster: it becomes known, is connected to with other credentials, or is no longer known. */
export type SecretClusterChange = "add" | "replace" | "remove";

type Listener = (cluster: string, change: SecretClusterChange) => void;

/** The clusters whose proxies may be served Secrets: istiod's own, those of directories, and the connected ones. */
export class SecretClusters {
  readonly #clusters: Set<string>;
  readonly #listeners = new Set<Listener>();

  /** @param clusters IDs of the clusters that are known from the start and stay */
  constructor(clusters: Iterable<string>) {
    this.#clusters = new Set(clusters);
  }

  /** Notes a change of a connected cluster. */
  change(cluster: string, change: SecretClusterChange): void {
    if (change === "remove") this.#clusters.delete(cluster);
    else this.#clusters.add(cluster);
    for (const listener of this.#listeners) listener(cluster, change);
  }

  /** Calls a listener after each change. Returns a function that ends this. */
  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Commits the clusters as an input of queries, now and after each change. Returns a function that ends this. */
  follow(database: Pick<Database<never>, "commit">): () => void {
    database.commit((tx) => {
      for (const cluster of this.#clusters) tx.set(secretClusters, cluster, true);
    });
    return this.onChange((cluster, change) =>
      database.commit((tx) => {
        if (change === "remove") tx.delete(secretClusters, cluster);
        else tx.set(secretClusters, cluster, true);
      }),
    );
  }
}
