import type { Query } from "../definitions/context.js";
import { canonicalKey } from "../values/key.js";
import { KeyTable } from "../values/key-table.js";
import { Computation } from "./computation.js";
import type { DecisionTrees, Node } from "./decision-tree.js";
import type { FingerprintIndex } from "./fingerprint-index.js";

export type AnyQuery = Query<never, unknown>;

/** A query with an argument, and its memos: a decision tree over the answers of clients. */
export class Call extends Computation implements DecisionTrees {
  tree: Node | null = null;
  superseded: Node[] | null = null;
  edits = 0;
  /** Null while there are few memos. */
  fingerprints: FingerprintIndex | null = null;
  /** The number of its memos that are not evicted. */
  memos = 0;

  constructor(
    readonly arg: unknown,
    readonly table: CallTable,
  ) {
    super();
  }

  get query(): AnyQuery {
    return this.table.query;
  }

  override get label(): string {
    const { key, name } = this.query;
    if (this.arg === undefined) return `${name}()`;
    return `${name}(${key === undefined ? canonicalKey(this.arg) : key(this.arg as never)})`;
  }

  /** Drops the call if it has no memos. */
  dropIfEmpty(): void {
    if (this.memos === 0) this.table.drop(this);
  }
}

/** The calls of one query. */
export class CallTable {
  readonly #byArg = new KeyTable<Call>();
  /** Used instead if the query has a `key`. */
  readonly #byKey = new Map<string, Call>();

  constructor(readonly query: AnyQuery) {}

  /** Returns the call with an argument, adding it if there is none. */
  call(arg: unknown): Call {
    const key = this.query.key?.(arg as never);
    let call = key === undefined ? this.#byArg.get(arg) : this.#byKey.get(key);
    if (call === undefined) {
      call = new Call(arg, this);
      if (key === undefined) this.#byArg.add(call);
      else this.#byKey.set(key, call);
    }
    return call;
  }

  drop(call: Call): void {
    if (this.query.key === undefined) this.#byArg.delete(call);
    else this.#byKey.delete(this.query.key(call.arg as never));
  }
}
