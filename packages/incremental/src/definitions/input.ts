import { structurallyEqual } from "../values/equality.js";
import type { QueryContext } from "./context.js";

/**
 * Which entries of a collection queries and facts meet; undefined: all. It is asked with the reader's own context, so that what it reads is
 * recorded with the reader's reads, and is pure as the reader is. It may read no collection that is under the same condition.
 */
export type Admission = (q: QueryContext) => ((key: string) => boolean) | undefined;

/** A keyed input: a map from string keys to values that only `Database.commit` changes. A module constant; it holds no entries itself. */
export interface Collection<V> {
  readonly kind: "collection";
  /** Unique in the process; used to find the collection's table in a database. */
  readonly id: number;
  readonly name: string;
  readonly admission: Admission | undefined;
  /** Whether replacing `before` by `after` is no change at all. */
  equals(before: V, after: V): boolean;
}

export interface CollectionOptions<V> {
  /** Default: structural equality, because decoders make a new object for every event whether or not anything in it changed. */
  readonly equals?: (before: V, after: V) => boolean;
  /**
   * The condition on which queries and facts meet an entry: else it is to them as one that is absent, in the collection and in its indexes.
   * The database itself has it all the same. Default: none.
   */
  readonly admission?: Admission;
}

/** A multi-map from bucket names to a collection's entries, kept up to date by commits. */
export interface Index<V> {
  readonly kind: "index";
  readonly id: number;
  readonly name: string;
  readonly collection: Collection<V>;
  /** The collection's. */
  readonly admission: Admission | undefined;
  /** The buckets that an entry is in; must be a pure function of its arguments. Repeated names count once. */
  buckets(value: V, key: string): Iterable<string>;
}

let definitions = 0;

/** Declares a keyed input. `name` is used in explanations and errors only; identity is the returned object. */
export function collection<V>(name: string, options: CollectionOptions<V> = {}): Collection<V> {
  return {
    kind: "collection",
    id: definitions++,
    name,
    admission: options.admission,
    equals: options.equals ?? structurallyEqual,
  };
}

/** Declares an index of a collection: `buckets` names the buckets that an entry is in. */
export function index<V>(
  of: Collection<V>,
  name: string,
  buckets: (value: V, key: string) => Iterable<string>,
): Index<V> {
  return { kind: "index", id: definitions++, name, collection: of, admission: of.admission, buckets };
}
