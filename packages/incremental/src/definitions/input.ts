import { structurallyEqual } from "../values/equality.js";
import type { EntryFilter, Collection, Index } from "./context.js";

export interface CollectionOptions<V> {
  /** Default: structural equality, because decoders create a new object for every event, changed or not. */
  readonly equals?: (before: V, after: V) => boolean;
  /**
   * Selects the entries that queries and facts see; others are absent to them, in the collection and in its indexes.
   * The reads of the database itself see all entries. Default: none, all are seen.
   */
  readonly filter?: EntryFilter;
}

let definitions = 0;

/** Declares a keyed input. `name` is used in explanations and errors only; identity is the returned object. */
export function collection<V>(name: string, options: CollectionOptions<V> = {}): Collection<V> {
  return {
    kind: "collection",
    id: definitions++,
    name,
    filter: options.filter,
    equals: options.equals ?? structurallyEqual,
  };
}

/** Declares an index of a collection: `buckets` returns the names of an entry's buckets. */
export function index<V>(
  of: Collection<V>,
  name: string,
  buckets: (value: V, key: string) => Iterable<string>,
): Index<V> {
  return { kind: "index", id: definitions++, name, collection: of, filter: of.filter, buckets };
}
