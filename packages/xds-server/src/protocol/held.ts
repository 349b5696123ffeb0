import type { ResourceSet } from "@istiod/resources";
import type { Digest } from "../wire/digest.js";
import type { VersionList } from "../wire/names.js";
import { versionsDigest } from "./set-digest.js";

const none: ReadonlyMap<string, string> = new Map();

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
  /** The names of which it has the set's version; undefined: all but those that differ. */
  readonly #same: ReadonlySet<string> | undefined;

  constructor(list: VersionList, set: ResourceSet) {
    this.size = list.size;
    this.digest = list.digest;
    this.set = set;
    this.others = this.#differing = none;
    if (list.digest.equals(versionsDigest(set))) return;
    const others = (this.others = new Map<string, string>());
    const differing = (this.#differing = new Map<string, string>());
    let same = 0;
    for (const [name, version] of list) {
      const found = set.get(name);
      if (found === undefined) others.set(name, version);
      else if (found.version === version) same++;
      else differing.set(name, version);
    }
    if (same + differing.size === set.size) return;
    const names = (this.#same = new Set<string>());
    for (const [name, version] of list) if (set.get(name)?.version === version) names.add(name);
  }

  /** Whether it has all of the set. */
  get all(): boolean {
    return this.#same === undefined && this.#differing.size === 0;
  }

  /** Whether it has the set's resource of this name, which the set has, in the set's version. */
  has(name: string): boolean {
    return this.#same === undefined ? !this.#differing.has(name) : this.#same.has(name);
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
