import type { RemoteCluster, RemoteClusterChange } from "./remote-clusters.js";

type Listener = (change: RemoteClusterChange) => void;

/** The access to remote clusters that is in use, for parts of istiod that connect to them with clients of their own. */
export class RemoteAccess {
  readonly #active = new Map<string, RemoteCluster>();
  readonly #listeners = new Set<Listener>();

  /** Notes a change of the access in use. */
  change(change: RemoteClusterChange): void {
    if (change.type === "remove") this.#active.delete(change.cluster);
    else this.#active.set(change.remote.cluster, change.remote);
    for (const listener of this.#listeners) listener(change);
  }

  /** Calls a listener for each access in use, and after each change. Returns a function that ends this. */
  follow(listener: Listener): () => void {
    for (const remote of this.#active.values()) listener({ type: "add", remote });
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
