import type { ResourceSet } from "@istiod/resources";
import type { Digest } from "../wire/digest.js";
import type { VersionList } from "../wire/names.js";
import { type NameVersion, unmatchedBytes, unmatchedIn, type VersionTable } from "../wire/version-table.js";
import { computeDigests, versionsDigest, versionTable } from "./set-digest.js";
import { indexSet } from "./set-slices.js";
import { sliceNames, type Sliced } from "../sliced.js";

const none: ReadonlyMap<string, string> = new Map();
const noNames: ReadonlySet<string> = new Set();
/** Characters of a version up to which it does not count. */
const usualVersionLength = 64;

/** The entries of a list that a set lacks, and marks of the set's entries that are in the list. */
interface Differences {
  readonly unmatched: readonly NameVersion[];
  readonly marks: Uint8Array;
}

/**
 * The initial versions of a reconnecting client, stored as the difference from a set: usually none, or a few resources.
 * Does not reference the request, which may list thousands of names.
 */
export class InitialVersions implements VersionList {
  readonly size: number;
  readonly digest: Digest;
  readonly longest: number;
  readonly set: ResourceSet;
  #outsideSet: ReadonlyMap<string, string> = none;
  /**
   * Names in the set for which the client has another version. After an upgrade of the server these are all, so they do
   * not count against the limits of a stream.
   */
  #differing: ReadonlyMap<string, string> = none;
  #longVersionBytes = 0;
  /** Names in the set that the client lacks; undefined if `#same` is used instead. */
  #absent: ReadonlySet<string> | undefined = noNames;
  /** Names for which the client has the set's version, if these are fewer. */
  #same: ReadonlySet<string> = noNames;

  /** Compares the list with the set. */
  static *of(list: VersionList, set: ResourceSet): Sliced<InitialVersions> {
    yield* computeDigests(set);
    if (list.digest.equals(versionsDigest(set))) return new InitialVersions(list, set);
    const table = yield* versionTable(set);
    const marks = new Uint8Array(table.size);
    const differing = new InitialVersions(list, set);
    yield* differing.#compare({ unmatched: yield* list.unmatched(table, marks), marks });
    return differing;
  }

  private constructor(list: VersionList, set: ResourceSet) {
    this.size = list.size;
    this.digest = list.digest;
    this.longest = list.longest;
    this.set = set;
  }

  *#compare({ unmatched, marks }: Differences): Sliced<void> {
    const { set } = this;
    const outsideSet = (this.#outsideSet = new Map<string, string>());
    const differing = (this.#differing = new Map<string, string>());
    if (unmatched.length > 0) yield* indexSet(set);
    let handled = 0;
    for (const [name, version] of unmatched) {
      const known = set.get(name);
      (known === undefined ? outsideSet : differing).set(known?.name ?? name, version);
      if (known !== undefined) this.#longVersionBytes += Math.max(0, version.length - usualVersionLength);
      if (++handled % sliceNames === 0) yield unmatched.length * unmatchedBytes;
    }
    const marked = marks.reduce((sum, mark) => sum + mark, 0);
    const few = marked * 2 < marks.length;
    this.#absent = few
      ? undefined
      : marked + differing.size === marks.length
        ? noNames
        : yield* namesAt(set, (index, name) => marks[index] === 0 && !differing.has(name));
    if (few) this.#same = yield* namesAt(set, (index) => marks[index] === 1);
  }

  /** Versions of names that are not in the set. */
  get outsideSet(): ReadonlyMap<string, string> {
    return this.#outsideSet;
  }

  /** Reports whether the client has every resource of the set in the set's version. */
  get hasAll(): boolean {
    return this.#absent?.size === 0 && this.#differing.size === 0;
  }

  /** Reports whether the client has a resource of the set in the set's version. */
  has(name: string): boolean {
    return !this.#differing.has(name) && (this.#absent === undefined ? this.#same.has(name) : !this.#absent.has(name));
  }

  get bytes(): number {
    return this.outsideSet.size * unmatchedBytes + this.#longVersionBytes;
  }

  unmatched(table: VersionTable, marks: Uint8Array): Sliced<readonly NameVersion[]> {
    return unmatchedIn(this, table, marks);
  }

  detach(): VersionList {
    return this;
  }

  *[Symbol.iterator](): Iterator<readonly [string, string]> {
    for (const { name, version } of this.set) if (this.has(name)) yield [name, version];
    yield* this.#differing;
    yield* this.outsideSet;
  }
}

/** Returns a list of versions relative to a set. */
export function* relativeTo(list: VersionList, set: ResourceSet): Sliced<InitialVersions> {
  return list instanceof InitialVersions && list.set === set ? list : yield* InitialVersions.of(list, set);
}

function* namesAt(set: ResourceSet, includes: (index: number, name: string) => boolean): Sliced<ReadonlySet<string>> {
  const names = new Set<string>();
  let index = 0;
  for (const { name } of set) {
    if (includes(index++, name)) names.add(name);
    if (index % sliceNames === 0) yield 0;
  }
  return names;
}
