import { unlinkAll } from "../evaluation/edges.js";
import type { Engine } from "../evaluation/engine.js";
import { removeFromIndex } from "../evaluation/equal-results.js";
import type { Call } from "../records/call.js";
import type { Root } from "../records/client.js";
import { isUsed, Memo } from "../records/memo.js";
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

/** Memos that a commit drops at most, in addition to two for each that was computed or verified since the last one. */
const dropsPerCommit = 100;

/**
 * Drops records that have been unused for more than `keepRevisions`. To be called after each commit. A commit should
 * not wait until everything is dropped that a large number of clients has left behind, so the rest is left to the next
 * ones. Records cannot accumulate, because more are dropped than are computed.
 */
export function collect(engine: Engine, { keepRevisions }: RetentionLimits): void {
  const before = engine.revision - keepRevisions;
  const { work } = engine.counters;
  dropUnused(engine, { before, lastUse: before, most: dropsPerCommit + 2 * (work - engine.unused.collectedWork) });
  engine.unused.collectedWork = work;
}

/** Drops all records except those of results that views called since the last commit, or follow. */
export function collectAll(engine: Engine): void {
  dropUnused(engine, { before: engine.revision, lastUse: engine.revision - 1, most: Infinity });
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

interface Expiry {
  /** The revision since which dropped records are unused, or earlier. */
  readonly before: number;
  /** The revision in which dropped roots were last used, or earlier. */
  readonly lastUse: number;
  /** The number of records after which the rest is left to the next call. */
  readonly most: number;
}

function dropUnused(engine: Engine, { before, lastUse, most }: Expiry): void {
  const { unused, store, revision } = engine;
  let left = evictDue(engine, most);
  for (let root = unused.roots.oldest(lastUse); root !== null && left > 0; root = unused.roots.oldest(lastUse)) {
    dropRoot(engine, root);
    unused.due.push(root.memo);
    left = evictDue(engine, left - 1);
  }
  for (const memo of unused.takeSuperseded()) unused.due.push(memo);
  left = evictDue(engine, left);
  if (left > 0) {
    for (const memo of unused.memos.takeExpired(before, revision, left)) unused.due.push(memo);
    evictDue(engine, left);
  }
  for (const input of unused.takeInputs()) input.table.dropUnused(input);
  for (const question of unused.questions.takeExpired(before, revision)) unused.expiredQuestions.push(question);
  if (unused.expiredQuestions.length >= questionsPerBatch) dropQuestions(engine, unused.takeExpiredQuestions());
  if (store.questions.addedAnswers > answersBetweenSearches + store.questions.size) dropUnusedAnswers(engine);
}

/** Drops memos that are due, at most a number of them. Returns how many more may be dropped. */
function evictDue(engine: Engine, most: number): number {
  const { due } = engine.unused;
  for (; most > 0; most--) {
    const memo = due.pop();
    if (memo === undefined) break;
    if (!isUsed(memo)) evictOne(engine, memo, due);
  }
  return most;
}

/** Drops an unused memo, and the memos that become unused by it. */
function evict(engine: Engine, memo: Memo): void {
  const due = [memo];
  for (let next = due.pop(); next !== undefined; next = due.pop()) if (!isUsed(next)) evictOne(engine, next, due);
}

/** Drops an unused memo, and adds the memos that become unused by it to those that are due. */
function evictOne(engine: Engine, memo: Memo, due: Memo[]): void {
  removeFromIndex(memo.owner as Call, memo);
  engine.counters.drops++;
  for (const question of engine.store.remove(memo)) engine.unused.addQuestion(question, engine.revision);
  for (const dependency of unlinkAll(engine, memo)) {
    if (dependency instanceof Memo && dependency.client === null && !isUsed(dependency)) due.push(dependency);
  }
}
