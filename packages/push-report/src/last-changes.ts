import type { Commit } from "@istiod/incremental";
import { formatName, nameOf, type ObjectName } from "./object-name.js";

/** Maximum number of deleted objects that are remembered; the oldest deletions are forgotten first. */
const maxDeleted = 1000;

/** The revisions in which objects last changed, for all existing objects and the last deleted ones. */
export class LastChanges {
  readonly #revisions = new Map<string, number>();
  /** Names of deleted objects, oldest deletion first. */
  readonly #deleted = new Set<string>();

  /** Number of objects. */
  get size(): number {
    return this.#revisions.size;
  }

  /** Records a commit. Returns the names of its objects by their formatted name. */
  add({ revision, changed }: Commit): ReadonlyMap<string, ObjectName> {
    const names = new Map<string, ObjectName>();
    const present = new Set<string>();
    for (const change of changed) {
      const name = nameOf(change);
      const formatted = formatName(name);
      names.set(formatted, name);
      // Each cluster may have an object of this name.
      if (change.present) present.add(formatted);
    }
    for (const name of names.keys()) {
      this.#revisions.set(name, revision);
      this.#deleted.delete(name);
      if (!present.has(name)) this.#deleted.add(name);
    }
    for (const oldest of this.#deleted) {
      if (this.#deleted.size <= maxDeleted) break;
      this.#deleted.delete(oldest);
      this.#revisions.delete(oldest);
    }
    return names;
  }

  /** Returns the revision of the last change; undefined if it is not known. */
  of(name: ObjectName): number | undefined {
    return this.#revisions.get(formatName(name));
  }
}
