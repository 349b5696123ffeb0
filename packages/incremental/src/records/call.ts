import type { Query } from "../definitions/query.js";
import { canonicalKey } from "../values/key.js";
import { KeyTable } from "../values/key-table.js";
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
    readonly arg: unknown,
    readonly home: CallTable,
  ) {}

  get query(): AnyQuery {
    return this.home.query;
  }

  /** As in `name(arg)`. */
  get label(): string {
    const { key, name } = this.query;
    if (this.arg === undefined) return `${name}()`;
    return `${name}(${key === undefined ? canonicalKey(this.arg) : key(this.arg as never)})`;
  }
}

/** The calls of one query. */
export class CallTable {
  readonly #byArg = new KeyTable<Call>();
  /** Where the query names its arguments. */
  readonly #byName = new Map<string, Call>();

  constructor(readonly query: AnyQuery) {}

  call(arg: unknown): Call {
    const name = this.query.key?.(arg as never);
    let call = name === undefined ? this.#byArg.get(arg) : this.#byName.get(name);
    if (call === undefined) {
      call = new Call(arg, this);
      if (name === undefined) this.#byArg.add(call);
      else this.#byName.set(name, call);
    }
    return call;
  }

  drop(call: Call): void {
    if (this.query.key === undefined) this.#byArg.delete(call);
    else this.#byName.delete(this.query.key(call.arg as never));
  }

  get size(): number {
    return this.#byArg.size + this.#byName.size;
  }
}
