import type { ResourceSet } from "@istiod/resources";
import type { Digest } from "../wire/digest.js";
import type { VersionList } from "../wire/names.js";
import { unmatchedIn, type VersionTable } from "../wire/version-table.js";
import { versionsDigest, versionTable } from "./set-digest.js";

const none: ReadonlyMap<string, string> = new Map();
const noNames: ReadonlySet<string> = new Set();

/**
 * What a client that returns has, told by how it differs from a set: mostly not at all, or by a few resources. The request that said it, which
 * may list thousands of names, is not needed any more.
 */
export class Held implements VersionList {
  readonly size: number;
  readonly digest: Digest;
  readonly set: ResourceSet;
  /** Versions of names that the set does not have. */
  readonly others: ReadonlyMap<string, string>;
  /** Versions of the set's names that are not the set's. */
  readonly #differing: ReadonlyMap<string, string>;
  /** The names of the set that it does not have; undefined where it is told which it has. */
  readonly #absent: ReadonlySet<string> | undefined;
  /** The names of which it has the set's version, where they are fewer. */
  readonly #same: ReadonlySet<string> = noNames;

  constructor(list: VersionList, set: ResourceSet) {
    this.size = list.size;
    this.digest = list.digest;
    this.set = set;
    this.others = this.#differing = none;
    this.#absent = noNames;
    if (list.digest.equals(versionsDigest(set))) return;
    const others = (this.others = new Map<string, string>());
    const differing = (this.#differing = new Map<string, string>());
    const table = versionTable(set);
    const marks = new Uint8Array(table.size);
    for (const [name, version] of list.unmatched(table, marks)) (set.has(name) ? differing : others).set(name, version);
    const marked = marks.reduce((sum, mark) => sum + mark, 0);
    const few = marked * 2 < table.size;
    this.#absent = few
      ? undefined
      : marked + differing.size === table.size
        ? noNames
        : namesAt(set, (place, name) => marks[place] === 0 && !differing.has(name));
    if (few) this.#same = namesAt(set, (place) => marks[place] === 1);
  }

  /** Whether it has all of the set. */
  get all(): boolean {
    return this.#absent?.size === 0 && this.#differing.size === 0;
  }

  /** Whether it has the set's resource of this name, which the set has, in the set's version. */
  has(name: string): boolean {
    return !this.#differing.has(name) && (this.#absent === undefined ? this.#same.has(name) : !this.#absent.has(name));
  }

  unmatched(table: VersionTable, marks: Uint8Array): readonly (readonly [string, string])[] {
    return unmatchedIn(this, table, marks);
  }

  kept(): VersionList {
    return this;
  }

  *[Symbol.iterator](): Iterator<readonly [string, string]> {
    for (const { name, version } of this.set) if (this.has(name)) yield [name, version];
    yield* this.#differing;
    yield* this.others;
  }
}

/** What a list means beside a set. */
export function heldOf(list: VersionList, set: ResourceSet): Held {
  return list instanceof Held && list.set === set ? list : new Held(list, set);
}

function namesAt(set: ResourceSet, includes: (place: number, name: string) => boolean): ReadonlySet<string> {
  const names = new Set<string>();
  let place = 0;
  for (const { name } of set) if (includes(place++, name)) names.add(name);
  return names;
}
