import type { Selection } from "@istiod/xds-server";
import type { ChangedNames } from "./pending-changes.js";

/** Time after a change in which a request for its resources is attributed to it, in milliseconds. */
const maxAgeMs = 10_000;
/** Names remembered per type and stream; the oldest are forgotten first. */
const maxNames = 1000;

/**
 * Resources of one type that changes have added and that the client has not requested yet. A client learns of them from
 * another type, as of endpoints from their new cluster, and requests them then. The response is attributed to the
 * changes that added them.
 */
export class UnrequestedResources {
  readonly #names = new Map<string, { readonly revisions: readonly number[]; readonly at: number }>();

  /**
   * Adds the resources of changes.
   *
   * @param isKnown reports whether the client subscribes to a name, or the resource is not new
   * @param now milliseconds since the epoch
   */
  add(changes: Iterable<ChangedNames>, isKnown: (name: string) => boolean, now: number): void {
    for (const { revisions, names } of changes) {
      if (revisions.length === 0) continue;
      for (const name of names) {
        if (isKnown(name)) continue;
        this.#names.delete(name);
        this.#names.set(name, { revisions, at: now });
      }
    }
    for (const oldest of this.#names.keys()) {
      if (this.#names.size <= maxNames) break;
      this.#names.delete(oldest);
    }
  }

  /** Returns the changes that added resources of a response, and removes these resources. */
  requestedBy(selection: Selection, now: number): readonly number[] {
    if (this.#names.size === 0) return [];
    const revisions = new Set<number>();
    for (const { name } of selection.resources) {
      const added = this.#names.get(name);
      if (added === undefined) continue;
      this.#names.delete(name);
      if (now - added.at <= maxAgeMs) for (const revision of added.revisions) revisions.add(revision);
    }
    return [...revisions];
  }
}
