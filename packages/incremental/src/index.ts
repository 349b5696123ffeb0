/**
 * Inputs, queries, and memoization by recorded reads: an incremental computation engine.
 * This file is the whole public surface.
 */
export {
  collection,
  index,
  type Admission,
  type Collection,
  type CollectionOptions,
  type Index,
} from "./definitions/input.js";
export { fact, type Fact } from "./definitions/fact.js";
export { query, type Query, type QueryOptions } from "./definitions/query.js";
export type { FactContext, QueryContext } from "./definitions/context.js";
export { Database } from "./database.js";
export type {
  Change,
  Commit,
  CommitObserver,
  DatabaseOptions,
  Followed,
  Statistics,
  Supposition,
  Transaction,
  View,
} from "./api.js";
export type { ExplainedFact, ExplainedQuery, ExplainedRead, Explanation } from "./explanation.js";
export { CycleError, IncrementalError, type IncrementalErrorCode } from "./errors.js";
export { canonicalKey, type Key } from "./values/key.js";
export { structurallyEqual } from "./values/equality.js";
