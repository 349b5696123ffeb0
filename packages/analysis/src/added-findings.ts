import { setImmediate } from "node:timers/promises";
import type { Collection, Database, DryRun, View } from "@istiod/incremental";
import { pauseEvery } from "@istiod/runtime";
import type { Finding } from "./finding.js";
import { findingsOfEachObject, findingsOfObject, type ObjectFindings } from "./findings.js";
import { isSuppressedByObject } from "./messages/suppression.js";

/** An object that may be written. */
export interface ObjectWrite {
  readonly collection: Collection<unknown>;
  readonly key: string;
  readonly object: unknown;
}

export interface AddedFindingsOptions {
  /** Milliseconds after which the analysis ends without a result. */
  readonly withinMs: number;
  /** Milliseconds of work after which the event loop gets a turn. Default 8. */
  readonly sliceMs?: number;
  /** Yields to the event loop. Default: `setImmediate`. */
  readonly turn?: () => Promise<unknown>;
  /** Returns the time in milliseconds. Default: `performance.now`. */
  readonly now?: () => number;
}

/** Findings that a write would add. */
export interface AddedFindings {
  readonly findings: readonly Finding[];
  /** False if the time was over before all objects were analyzed. Those of the written object are known first. */
  readonly isComplete: boolean;
  /** Milliseconds of the part of the work that cannot yield, which grows with what depends on the object. */
  readonly preparedMs: number;
}

/**
 * Returns the findings that writing an object would add, about the object and about others. They are found by a dry
 * run, which costs what the commit would cost. The work yields to the event loop, and starts over after a commit.
 */
export async function addedFindings<C>(
  database: Database<C>,
  view: View<C>,
  write: ObjectWrite,
  { withinMs, sliceMs = 8, turn = setImmediate, now = () => performance.now() }: AddedFindingsOptions,
): Promise<AddedFindings> {
  const deadline = now() + withinMs;
  const pause = pauseEvery(sliceMs, turn);
  // The written object suppresses findings about itself by the annotations that it will have.
  const read = ((of: Collection<unknown>, key: string) =>
    of === write.collection && key === write.key ? write.object : database.read(of, key)) as Database<never>["read"];
  const isShown = (finding: Finding): boolean => !isSuppressedByObject({ read }, finding);
  for (;;) {
    await turn();
    const { revision } = database;
    const started = now();
    const dryRun = database.dryRun((tx) => tx.set(write.collection, write.key, write.object));
    const preparedMs = now() - started;
    const found: Finding[] = [];
    let isDone = true;
    for (const of of writtenFirst(database, write)) {
      await pause();
      isDone = now() < deadline && database.revision === revision;
      if (!isDone) break;
      found.push(...addedTo(view, dryRun, of).filter(isShown));
    }
    if (isDone || now() >= deadline) return { findings: found, isComplete: isDone, preparedMs };
  }
}

/** Yields the findings of the written object, then those of all others. */
function* writtenFirst<C>(database: Database<C>, { collection, key }: ObjectWrite): Generator<ObjectFindings> {
  const isWritten = (of: ObjectFindings): boolean => of.collection === collection && of.key === key;
  const own = findingsOfObject(collection, key);
  if (own !== undefined) yield own;
  for (const of of findingsOfEachObject(database)) if (!isWritten(of)) yield of;
}

function addedTo<C>(view: View<C>, dryRun: DryRun<C>, { query, key }: ObjectFindings): readonly Finding[] {
  const after = dryRun.call(view, query, key);
  // The dry run returns the view's own findings if they would be equal.
  if (after.length === 0) return [];
  const before = view.call(query, key);
  if (after === before) return [];
  const known = new Set(before.map(identityOf));
  return after.filter((finding) => !known.has(identityOf(finding)));
}

function identityOf({ code, path, message }: Finding): string {
  return JSON.stringify([code, path, message]);
}
