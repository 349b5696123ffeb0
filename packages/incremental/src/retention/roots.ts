import type { Followed } from "../api.js";
import type { ClientView } from "../client-view.js";
import type { AnyQuery, Call } from "../records/call.js";
import type { Memo } from "../records/memo.js";

/** A result that a view was asked for, held for it. */
export class Root implements Followed {
  /** The state of the client's answers for which the memo was found. */
  state = 0;
  /** The revision in which the view was last asked for it. */
  usedAt = 0;
  /** It is held until the view lets go of it, however long it is not asked for, and commits that may change it name it. */
  followed = false;
  /** The revision that named it last. */
  namedAt = 0;
  /** Among all roots, by when they were last used. */
  older: Root | null = null;
  newer: Root | null = null;
  /** Among those that hold the same memo. */
  previousHolder: Root | null = null;
  nextHolder: Root | null = null;

  constructor(
    readonly client: ClientView<unknown>,
    readonly call: Call,
    public memo: Memo,
  ) {
    this.#hold();
  }

  get view(): ClientView<unknown> {
    return this.client;
  }

  get query(): AnyQuery {
    return this.call.query;
  }

  get arg(): unknown {
    return this.call.arg;
  }

  /** Holds another memo. Gives the one that it held. */
  exchange(memo: Memo): Memo {
    const before = this.memo;
    this.letGo();
    this.memo = memo;
    this.#hold();
    return before;
  }

  /** Holds nothing any more. */
  letGo(): void {
    if (this.nextHolder !== null) this.nextHolder.previousHolder = this.previousHolder;
    if (this.previousHolder !== null) this.previousHolder.nextHolder = this.nextHolder;
    else this.memo.holders = this.nextHolder;
    this.previousHolder = this.nextHolder = null;
  }

  #hold(): void {
    const first = this.memo.holders;
    this.nextHolder = first;
    if (first !== null) first.previousHolder = this;
    this.memo.holders = this;
  }
}

/** The roots of all views that are not followed, by when they were last used. */
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
