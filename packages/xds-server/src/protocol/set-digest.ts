import type { ResourceSet } from "@istiod/resources";
import { Digest } from "../wire/digest.js";
import { VersionTable } from "../wire/version-table.js";
import { complete, SharedWork, SliceCount, sliceNames, type Sliced } from "../sliced.js";
import { NameIndex } from "./name-index.js";

interface Known {
  readonly names: Digest;
  readonly versions: Digest;
}

const byPart = new WeakMap<ResourceSet, Known>();
const computing = new SharedWork<ResourceSet, Known>();
const nameIndexes = new WeakMap<ResourceSet, NameIndex>();
const tables = new WeakMap<ResourceSet, VersionTable>();
const encoder = new TextEncoder();

/** Returns the digest of a set's names. */
export function namesDigest(set: ResourceSet): Digest {
  return known(set).names;
}

/** Returns the digest of a set's names with their versions. */
export function versionsDigest(set: ResourceSet): Digest {
  return known(set).versions;
}

/** Computes the digests of a set in slices. Thereafter, the functions above return them at once. */
export function* computeDigests(set: ResourceSet): Sliced<void> {
  if (set.size > sliceNames && !byPart.has(set)) yield* computing.of(set, () => compute(set));
}

/** Returns a set's names, indexed in slices: one object for all subscriptions that share it. */
export function* namesOf(set: ResourceSet): Sliced<NameIndex> {
  const indexed = indexedNames(set);
  if (indexed !== undefined) return indexed;
  yield* computeDigests(set);
  let names = nameIndexes.get(set);
  if (names === undefined) nameIndexes.set(set, (names = new NameIndex(set, namesDigest(set))));
  for (names.fill(); !names.filled; names.fill()) yield 0;
  return names;
}

/** Returns a set's names if they have been indexed. */
export function indexedNames(set: ResourceSet): NameIndex | undefined {
  const names = nameIndexes.get(set);
  return names?.filled === true ? names : undefined;
}

/** Returns the version table of a set, computed in slices. */
export function* versionTable(set: ResourceSet): Sliced<VersionTable> {
  let table = tables.get(set);
  if (table === undefined) tables.set(set, (table = yield* VersionTable.of(set, set.size)));
  return table;
}

function known(set: ResourceSet): Known {
  return byPart.get(set) ?? complete(compute(set));
}

function* compute(set: ResourceSet, count = new SliceCount()): Sliced<Known> {
  const found = { names: new Digest(), versions: new Digest() };
  for (const part of set.parts) {
    if (part !== set) {
      if (count.add()) yield 0;
      const { names, versions } = byPart.get(part) ?? (yield* compute(part, count));
      found.names.addAll(names);
      found.versions.addAll(versions);
      continue;
    }
    for (const { name, version } of part) {
      const encoded = encoder.encode(name);
      found.names.add(encoded);
      found.versions.add(encoded, encoder.encode(version));
      if (count.add()) yield 0;
    }
  }
  byPart.set(set, found);
  return found;
}
