import { setImmediate } from "node:timers/promises";
import type { Collection, Database, DryRun, View } from "@istiod/incremental";
import type { Finding } from "./finding.js";
import { findingsOfEachObject, findingsOfObject, type ObjectFindings } from "./findings.js";
import { isSuppressedByObject } from "./messages/suppression.js";

/** An object that may be written. */
export interface ObjectWrite {
  readonly collection: Collection<unknown>;
  readonly key: string;
  readonly object: unknown;
  /** Leaves out the findings about other objects. */
  readonly isAlone?: true;
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
  /** Milliseconds of work in all. */
  readonly workMs: number;
  /** Milliseconds of the longest work without a turn of the event loop. */
  readonly longestMs: number;
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
  const slices = new Slices(sliceMs, turn, now);
  // The written object suppresses findings about itself by the annotations that it will have.
  const read = ((of: Collection<unknown>, key: string) =>
    of === write.collection && key === write.key ? write.object : database.read(of, key)) as Database<never>["read"];
  const isShown = (finding: Finding): boolean => !isSuppressedByObject({ read }, finding);
  for (;;) {
    await slices.turn();
    const { revision } = database;
    const dryRun = database.dryRun((tx) => tx.set(write.collection, write.key, write.object));
    const found: Finding[] = [];
    let isDone = true;
    for (const of of steps(database, dryRun, write)) {
      await slices.pause();
      isDone = now() < deadline && database.revision === revision;
      if (!isDone) break;
      if (of !== undefined) found.push(...addedTo(view, dryRun, of).filter(isShown));
    }
    if (isDone || now() >= deadline) return { findings: found, isComplete: isDone, ...slices.end() };
  }
}

/** The slices of work between turns of the event loop. */
class Slices {
  readonly #sliceMs: number;
  readonly #turn: () => Promise<unknown>;
  readonly #now: () => number;
  #started: number;
  #workMs = 0;
  #longestMs = 0;

  constructor(sliceMs: number, turn: () => Promise<unknown>, now: () => number) {
    this.#sliceMs = sliceMs;
    this.#turn = turn;
    this.#now = now;
    this.#started = now();
  }

  async turn(): Promise<void> {
    this.end();
    await this.#turn();
    this.#started = this.#now();
  }

  /** Returns a promise to wait for if the slice is used up. */
  pause(): Promise<void> | undefined {
    return this.#now() - this.#started < this.#sliceMs ? undefined : this.turn();
  }

  /** Ends the slice, and returns the times of all. */
  end(): Pick<AddedFindings, "workMs" | "longestMs"> {
    const ms = this.#now() - this.#started;
    this.#started = this.#now();
    this.#workMs += ms;
    this.#longestMs = Math.max(this.#longestMs, ms);
    return { workMs: this.#workMs, longestMs: this.#longestMs };
  }
}

/** Yields for each step of the preparation of a dry run, then the findings to compare: the written object's first. */
function* steps<C>(
  database: Database<C>,
  dryRun: DryRun<C>,
  write: ObjectWrite,
): Generator<ObjectFindings | undefined> {
  for (const _ of dryRun.prepare()) yield undefined;
  yield* writtenFirst(database, write);
}

/** Yields the findings of the written object, then those of all others. */
function* writtenFirst<C>(database: Database<C>, { collection, key, isAlone }: ObjectWrite): Generator<ObjectFindings> {
  const isWritten = (of: ObjectFindings): boolean => of.collection === collection && of.key === key;
  const own = findingsOfObject(collection, key);
  if (own !== undefined) yield own;
  if (isAlone) return;
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
