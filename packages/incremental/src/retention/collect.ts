import { unlinkAll } from "../evaluation/edges.js";
import type { Engine } from "../evaluation/engine.js";
import { removeFromIndex } from "../evaluation/equal-results.js";
import type { Call } from "../records/call.js";
import type { Root } from "../records/client.js";
import { evicted, isUsed, Memo } from "../records/memo.js";
import { dropQuestions, dropUnusedAnswers } from "./questions.js";

/** Limits of unused records. */
export interface RetentionLimits {
  /** Revisions. */
  readonly keepRevisions: number;
  /** Unused memos that are kept when a view is released. */
  readonly keepUnused: number;
}

/** Unused answers are searched for when more new ones than this and the number of questions were added. */
const answersBetweenSearches = 4096;
/** Dropping a question visits every client, so questions are dropped in batches. */
const questionsPerBatch = 64;

/** Drops the records that have been unused for more than `keepRevisions`. To be called after each commit. */
export function collect(engine: Engine, { keepRevisions }: RetentionLimits): void {
  const before = engine.revision - keepRevisions;
  dropUnused(engine, before, before);
}

/** Drops all records except those of results that views called since the last commit, or follow. */
export function collectAll(engine: Engine): void {
  dropUnused(engine, engine.revision, engine.revision - 1);
  dropQuestions(engine, engine.unused.takeExpiredQuestions());
  dropUnusedAnswers(engine);
}

/** Drops the oldest unused memos beyond `keepUnused`. To be called after a view is released. */
export function collectBeyond(engine: Engine, { keepUnused }: RetentionLimits): void {
  for (const memo of engine.unused.memos.takeBeyond(keepUnused)) evict(engine, memo);
}

/** Removes a client's result. Its memo is kept if it is used elsewhere. */
export function dropRoot(engine: Engine, root: Root): void {
  root.client.roots.delete(root.call);
  engine.clients.unfollow(root);
  engine.unused.roots.remove(root);
  root.detach();
}

/** Removes a client's result with everything that only it uses. */
export function dropResult(engine: Engine, root: Root): void {
  dropRoot(engine, root);
  if (!isUsed(root.memo)) evict(engine, root.memo);
  for (const input of engine.unused.takeInputs()) input.table.dropUnused(input);
}

/**
 * Drops records that are unused since the revision `before`, and roots last used in the revision `lastUse` or earlier.
 */
function dropUnused(engine: Engine, before: number, lastUse: number): void {
  const { unused, store, revision } = engine;
  for (let root = unused.roots.oldest(lastUse); root !== null; root = unused.roots.oldest(lastUse)) {
    dropRoot(engine, root);
    if (!isUsed(root.memo)) evict(engine, root.memo);
  }
  for (const memo of unused.takeSuperseded()) evict(engine, memo);
  for (const memo of unused.memos.takeExpired(before, revision)) evict(engine, memo);
  for (const input of unused.takeInputs()) input.table.dropUnused(input);
  for (const question of unused.questions.takeExpired(before, revision)) unused.expiredQuestions.push(question);
  if (unused.expiredQuestions.length >= questionsPerBatch) dropQuestions(engine, unused.takeExpiredQuestions());
  if (store.questions.addedAnswers > answersBetweenSearches + store.questions.size) dropUnusedAnswers(engine);
}

/** Drops an unused memo, and the memos that become unused by it. */
function evict(engine: Engine, memo: Memo): void {
  const pending = [memo];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.standing === evicted) continue;
    removeFromIndex(next.owner as Call, next);
    engine.counters.drops++;
    for (const question of engine.store.remove(next)) engine.unused.addQuestion(question, engine.revision);
    for (const dependency of unlinkAll(engine, next)) {
      if (dependency instanceof Memo && dependency.client === null && !isUsed(dependency)) pending.push(dependency);
    }
  }
}
