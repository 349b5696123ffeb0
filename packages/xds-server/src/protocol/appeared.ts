import type { Selection } from "../wire/body-cache.js";

/** So long after a change clients may ask for what came by it, in milliseconds. */
const askedWithinMs = 10_000;
/** As many names are remembered of a stream's type; the oldest are forgotten first. */
const namesKept = 1000;

/**
 * Resources of one type that changes brought, and that a client did not subscribe to: it learns of them by another type, as of the endpoints of a new
 * cluster, and asks then. What it is sent because of that belongs to those changes.
 */
export class Appeared {
  readonly #names = new Map<string, { readonly revisions: readonly number[]; readonly at: number }>();

  /**
   * Notes what changes brought.
   *
   * @param known names that the client subscribes to, or that were there before
   * @param now milliseconds
   */
  note(
    brought: Iterable<{ readonly revisions: readonly number[]; readonly names: Iterable<string> }>,
    known: (name: string) => boolean,
    now: number,
  ): void {
    for (const { revisions, names } of brought) {
      if (revisions.length === 0) continue;
      for (const name of names) {
        if (known(name)) continue;
        this.#names.delete(name);
        this.#names.set(name, { revisions, at: now });
      }
    }
    for (const oldest of this.#names.keys()) {
      if (this.#names.size <= namesKept) break;
      this.#names.delete(oldest);
    }
  }

  /** The changes that brought what a response carries, and forgets that they did. */
  takenBy(selection: Selection, now: number): readonly number[] {
    if (this.#names.size === 0) return [];
    const revisions = new Set<number>();
    for (const { name } of selection.resources) {
      const noted = this.#names.get(name);
      if (noted === undefined) continue;
      this.#names.delete(name);
      if (now - noted.at <= askedWithinMs) for (const revision of noted.revisions) revisions.add(revision);
    }
    return [...revisions];
  }
}
