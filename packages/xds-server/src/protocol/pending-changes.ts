import { difference, type ResourceSet } from "@istiod/resources";
import type { Selection } from "../wire/body-cache.js";

/** As many revisions are told apart of those that wait for one client; the oldest are forgotten first. */
const revisionsKept = 256;

/** Revisions that were looked at together, and the names of what they changed: of a client that does not read, the resources would be kept for as long. */
interface Looked {
  readonly revisions: readonly number[];
  readonly names: ReadonlySet<string>;
}

/**
 * The revisions of the source that wait to be shown to a client, for one type. They are merged into one response; to tell afterwards which of
 * them it shows something of, the source is looked at before it changes again.
 */
export class PendingChanges {
  /** Revisions since the last look. */
  #fresh: number[];
  readonly #looked: Looked[] = [];
  /** The set at the last look. */
  #seen: ResourceSet | undefined;

  constructor(revisions: readonly number[] = []) {
    this.#fresh = [...revisions];
  }

  add(revision: number): void {
    this.#fresh.push(revision);
    if (this.#fresh.length > revisionsKept) this.#fresh.shift();
  }

  /** Whether there is a revision that was not looked at. */
  get unseen(): boolean {
    return this.#fresh.length > 0;
  }

  /**
   * The source is about to change. Ascribes what differs until now to the revisions until now.
   *
   * @param known what the client was sent before
   * @param set what it would be sent now
   */
  look(known: ResourceSet, set: ResourceSet): void {
    const before = this.#seen ?? known;
    this.#seen = set;
    if (before !== set) this.#looked.push({ revisions: this.#fresh, names: namesBetween(before, set) });
    this.#fresh = [];
    if (this.#looked.length > revisionsKept) this.#looked.shift();
  }

  /**
   * The revisions that a response shows something of, ascending. Where it cannot be told, as for resources that are sent although they did
   * not change, all that a change led to counts, and nothing that a request led to.
   *
   * @param known what the client was sent before; undefined: nothing
   * @param selection what differs for it
   */
  shownBy(
    selection: Selection,
    known: ResourceSet | undefined,
    set: ResourceSet,
    reason: "request" | "change",
  ): readonly number[] {
    if (this.#looked.length === 0 && (this.#fresh.length === 0 || (this.#fresh.length === 1 && reason === "change")))
      return this.#fresh;
    if (known === undefined) return [];
    const selected = [...selection.resources.map(({ name }) => name), ...selection.removed];
    const all = this.apart(known, set);
    const shown = all.filter(({ names }) => selected.some((name) => names.has(name)));
    if (shown.length > 0) return shown.flatMap(({ revisions }) => revisions);
    return reason === "change" ? all.flatMap(({ revisions }) => revisions) : [];
  }

  /**
   * The revisions that wait, as far as they are told apart, with the names of what each changed; ascending.
   *
   * @param known what the client was sent before
   */
  apart(known: ResourceSet, set: ResourceSet): readonly Looked[] {
    return [...this.#looked, { revisions: this.#fresh, names: namesBetween(this.#seen ?? known, set) }];
  }
}

const namesOf = new WeakMap<object, ReadonlySet<string>>();

/** The names of what differs between two sets: one collection for all clients that have these sets. */
function namesBetween(before: ResourceSet, after: ResourceSet): ReadonlySet<string> {
  const between = difference(before, after);
  let names = namesOf.get(between);
  if (names === undefined)
    namesOf.set(between, (names = new Set([...between.changed.map(({ name }) => name), ...between.removed])));
  return names;
}
