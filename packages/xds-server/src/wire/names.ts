import { Digest } from "./digest.js";
import { unmatchedIn, type VersionTable } from "./version-table.js";

/** Names in a request, decoded on iteration. */
export interface NameList extends Iterable<string> {
  /** Number of entries, including duplicates. */
  readonly size: number;
  readonly digest: Digest;
}

/** Versions of the resources that a client has, decoded on iteration. */
export interface VersionList extends Iterable<readonly [name: string, version: string]> {
  readonly size: number;
  readonly digest: Digest;
  /** Returns the entries that are not in the table, and sets the marks of those that are. */
  unmatched(table: VersionTable, marks: Uint8Array): readonly (readonly [name: string, version: string])[];
  /** Returns a list that does not reference the request's bytes. */
  detach(): VersionList;
}

const encoder = new TextEncoder();

export function nameList(names: readonly string[]): NameList {
  let digest: Digest | undefined;
  return {
    size: names.length,
    get digest() {
      if (digest !== undefined) return digest;
      digest = new Digest();
      for (const name of names) digest.add(encoder.encode(name));
      return digest;
    },
    [Symbol.iterator]: () => names[Symbol.iterator](),
  };
}

export function versionList(versions: Readonly<Record<string, string>>): VersionList {
  const entries = Object.entries(versions);
  let digest: Digest | undefined;
  const list: VersionList = {
    size: entries.length,
    get digest() {
      if (digest !== undefined) return digest;
      digest = new Digest();
      for (const [name, version] of entries) digest.add(encoder.encode(name), encoder.encode(version));
      return digest;
    },
    unmatched: (table, marks) => unmatchedIn(entries, table, marks),
    detach: () => list,
    [Symbol.iterator]: () => entries[Symbol.iterator](),
  };
  return list;
}

export const noNames: NameList = nameList([]);
export const noVersions: VersionList = versionList({});
