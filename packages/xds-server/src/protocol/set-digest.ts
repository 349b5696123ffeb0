import type { ResourceSet } from "@istiod/resources";
import { Digest } from "../wire/digest.js";
import { VersionTable } from "../wire/version-table.js";
import { NameIndex } from "./name-index.js";

interface Known {
  readonly names: Digest;
  readonly versions: Digest;
}

const byPart = new WeakMap<ResourceSet, Known>();
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

/** Returns a set's names: one object for all subscriptions that share it. */
export function namesOf(set: ResourceSet): NameIndex {
  let names = nameIndexes.get(set);
  if (names === undefined) nameIndexes.set(set, (names = new NameIndex(set, namesDigest(set))));
  return names;
}

/** Returns the version table of a set. */
export function versionTable(set: ResourceSet): VersionTable {
  let table = tables.get(set);
  if (table === undefined) tables.set(set, (table = new VersionTable(set, set.size)));
  return table;
}

function known(set: ResourceSet): Known {
  let found = byPart.get(set);
  if (found !== undefined) return found;
  found = { names: new Digest(), versions: new Digest() };
  for (const part of set.parts) {
    if (part !== set) {
      const { names, versions } = known(part);
      found.names.addAll(names);
      found.versions.addAll(versions);
      continue;
    }
    for (const { name, version } of part) {
      const encoded = encoder.encode(name);
      found.names.add(encoded);
      found.versions.add(encoded, encoder.encode(version));
    }
  }
  byPart.set(set, found);
  return found;
}
