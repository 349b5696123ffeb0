import type { Root } from "../records/client.js";

/** The roots of all clients that are not followed, in order of last use. */
export class RootQueue {
  #oldest: Root | null = null;
  #newest: Root | null = null;

  use(root: Root, revision: number): void {
    if (root.usedAt === revision && (root.newer !== null || this.#newest === root)) return;
    this.remove(root);
    root.usedAt = revision;
    root.older = this.#newest;
    if (this.#newest === null) this.#oldest = root;
    else this.#newest.newer = root;
    this.#newest = root;
  }

  remove(root: Root): void {
    if (root.older !== null) root.older.newer = root.newer;
    else if (this.#oldest === root) this.#oldest = root.newer;
    if (root.newer !== null) root.newer.older = root.older;
    else if (this.#newest === root) this.#newest = root.older;
    root.older = root.newer = null;
  }

  /** Returns the least recently used root, if it was last used in the revision `before` or earlier. */
  oldest(before: number): Root | null {
    return this.#oldest !== null && this.#oldest.usedAt <= before ? this.#oldest : null;
  }

  clear(): void {
    this.#oldest = this.#newest = null;
  }
}
