import { difference, type ResourceSet } from "@istiod/resources";
import type { Selection } from "@istiod/xds-server";

/** Revisions that are told apart per type and client; the oldest are forgotten first. */
const maxRevisions = 256;

/**
 * Revisions and the names of the resources that they changed. Names only, because a client that does not read would
 * retain the resources.
 */
export interface ChangedNames {
  readonly revisions: readonly number[];
  readonly names: ReadonlySet<string>;
}

/** The changes of one type that wait to be sent to a client. They are merged into one response. */
export class PendingChanges {
  /** Revisions since the last comparison. */
  #new: number[];
  readonly #compared: ChangedNames[] = [];
  /** The set at the last comparison. */
  #comparedSet: ResourceSet | undefined;

  constructor(revisions: readonly number[] = []) {
    this.#new = [...revisions];
  }

  add(revision: number): void {
    this.#new.push(revision);
    if (this.#new.length > maxRevisions) this.#new.shift();
  }

  /** Reports whether there are revisions since the last comparison. */
  get hasNew(): boolean {
    return this.#new.length > 0;
  }

  /**
   * Attributes the difference since the last comparison to the revisions since then.
   *
   * @param sent the set that the client was last sent
   * @param current the set that the source has now
   */
  compare(sent: ResourceSet, current: ResourceSet): void {
    const before = this.#comparedSet ?? sent;
    this.#comparedSet = current;
    if (before !== current) this.#compared.push({ revisions: this.#new, names: namesBetween(before, current) });
    this.#new = [];
    if (this.#compared.length > maxRevisions) this.#compared.shift();
  }

  /**
   * Returns the revisions that a response shows, ascending. If these cannot be determined, for example because
   * unchanged resources are sent again, returns all revisions for a response to a change, and none for a response to a
   * request.
   *
   * @param before the set that the client was sent before; undefined if none
   */
  shownBy(
    selection: Selection,
    before: ResourceSet | undefined,
    set: ResourceSet,
    reason: "request" | "change",
  ): readonly number[] {
    const isUnambiguous = this.#new.length === 0 || (this.#new.length === 1 && reason === "change");
    if (this.#compared.length === 0 && isUnambiguous) return this.#new;
    if (before === undefined) return [];
    const selected = [...selection.resources.map(({ name }) => name), ...selection.removed];
    const all = this.split(before, set);
    const shown = all.filter(({ names }) => selected.some((name) => names.has(name)));
    if (shown.length > 0) return shown.flatMap(({ revisions }) => revisions);
    return reason === "change" ? all.flatMap(({ revisions }) => revisions) : [];
  }

  /**
   * Splits the difference between two sets by revisions, ascending, as far as comparisons allow.
   *
   * @param before the set that the client was sent before
   */
  split(before: ResourceSet, set: ResourceSet): readonly ChangedNames[] {
    return [...this.#compared, { revisions: this.#new, names: namesBetween(this.#comparedSet ?? before, set) }];
  }
}

const namesOf = new WeakMap<object, ReadonlySet<string>>();

/** Returns the names in the difference of two sets: one object for all clients with these sets. */
function namesBetween(before: ResourceSet, after: ResourceSet): ReadonlySet<string> {
  const between = difference(before, after);
  let names = namesOf.get(between);
  if (names === undefined) {
    names = new Set([...between.changed.map(({ name }) => name), ...between.removed]);
    namesOf.set(between, names);
  }
  return names;
}
