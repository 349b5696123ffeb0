import type { Query } from "../definitions/query.js";
import { canonicalKey, lookupKey, type LookupKey } from "../values/key.js";
import type { Node } from "./decision-tree.js";
import type { Prints } from "./prints.js";

export type AnyQuery = Query<never, unknown>;

/** One query with one argument, and its memos: a decision tree over the answers of clients. */
export class Call {
  tree: Node | null = null;
  /** Trees whose place was taken, newest first: see `Standing`. */
  superseded: Node[] | null = null;
  /** Its memos by the fingerprints of their values, if there are many. */
  prints: Prints | null = null;
  /** How many memos it has, in its trees or beside them. */
  memos = 0;
  /** Counts edits of the trees. */
  edits = 0;
  /** Its place among what is being computed; -1 where it is not. */
  activeAt = -1;

  constructor(
    readonly query: AnyQuery,
    readonly arg: unknown,
    readonly key: LookupKey,
    readonly home: CallTable,
  ) {}

  /** As in `name(arg)`. */
  get label(): string {
    if (this.arg === undefined) return `${this.query.name}()`;
    return `${this.query.name}(${this.query.key === undefined ? canonicalKey(this.arg) : String(this.key)})`;
  }
}

/** The calls of one query. */
export class CallTable {
  readonly #calls = new Map<LookupKey, Call>();

  constructor(readonly query: AnyQuery) {}

  call(arg: unknown): Call {
    const key = this.query.key === undefined ? lookupKey(arg) : this.query.key(arg as never);
    let call = this.#calls.get(key);
    if (call === undefined) this.#calls.set(key, (call = new Call(this.query, arg, key, this)));
    return call;
  }

  drop(call: Call): void {
    this.#calls.delete(call.key);
  }

  get size(): number {
    return this.#calls.size;
  }
}
