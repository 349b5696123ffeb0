import type { ClientView } from "../client-view.js";
import type { Call } from "../records/call.js";
import type { Memo } from "../records/memo.js";

/** A result that a view was asked for, held for it. */
export class Root {
  /** The state of the client's answers for which the memo was found. */
  state = 0;
  /** The revision in which the view was last asked for it. */
  usedAt = 0;
  older: Root | null = null;
  newer: Root | null = null;

  constructor(
    readonly client: ClientView<unknown>,
    readonly call: Call,
    public memo: Memo,
  ) {}
}

/** The roots of all views, by when they were last used. */
export class Roots {
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

  /** The root that was not used for longest, if that is since `before` or longer. */
  oldest(before: number): Root | null {
    return this.#oldest !== null && this.#oldest.usedAt <= before ? this.#oldest : null;
  }

  clear(): void {
    this.#oldest = this.#newest = null;
  }
}
