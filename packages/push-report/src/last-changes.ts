import type { Commit } from "@istiod/incremental";
import { formatName, nameOf, type ObjectName } from "./object-name.js";

/** Of objects that are gone, so many are known: those that went last. */
const goneKept = 1000;

/** The revisions in which objects last changed: of all that are there, and of some that are gone. */
export class LastChanges {
  readonly #revisions = new Map<string, number>();
  /** The names of those that are gone; the last one went last. */
  readonly #gone = new Set<string>();

  /** Of how many objects. */
  get size(): number {
    return this.#revisions.size;
  }

  /** Notes a commit, and gives the names of its objects. */
  note({ revision, changed }: Commit): ReadonlyMap<string, ObjectName> {
    const names = new Map<string, ObjectName>();
    const present = new Set<string>();
    for (const change of changed) {
      const name = nameOf(change);
      const formatted = formatName(name);
      names.set(formatted, name);
      // There may be one of the name in each cluster.
      if (change.present) present.add(formatted);
    }
    for (const name of names.keys()) {
      this.#revisions.set(name, revision);
      this.#gone.delete(name);
      if (!present.has(name)) this.#gone.add(name);
    }
    for (const oldest of this.#gone) {
      if (this.#gone.size <= goneKept) break;
      this.#gone.delete(oldest);
      this.#revisions.delete(oldest);
    }
    return names;
  }

  of(name: ObjectName): number | undefined {
    return this.#revisions.get(formatName(name));
  }
}
