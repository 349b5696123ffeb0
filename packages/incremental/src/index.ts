/**
 * Inputs, queries, and memoization by recorded reads: an incremental computation engine.
 * This file is the whole public surface.
 */
export { collection, index, type CollectionOptions } from "./definitions/input.js";
export { fact } from "./definitions/fact.js";
export { query, type QueryOptions } from "./definitions/query.js";
export type { EntryFilter, Collection, Fact, FactContext, Index, Query, QueryContext } from "./definitions/context.js";
export { Database } from "./database.js";
export type {
  Change,
  Commit,
  CommitObserver,
  DatabaseOptions,
  DryRun,
  Followed,
  IndexFailure,
  Statistics,
  Transaction,
  View,
} from "./api.js";
export type { ExplainedFact, ExplainedQuery, ExplainedRead, Explanation } from "./views/explanation.js";
export { CycleError, IncrementalError, type IncrementalErrorCode } from "./errors.js";
export { isOutOfStack } from "./evaluation/stack-overflow.js";
export { canonicalKey, type Key } from "./values/key.js";
export { structurallyEqual } from "./values/equality.js";
