import { Digest } from "./digest.js";
import { unmatchedIn, type VersionTable } from "./version-table.js";

/** Names in a request, which may still be encoded. */
export interface NameList extends Iterable<string> {
  /** How often a name is listed. */
  readonly size: number;
  readonly digest: Digest;
}

/** Versions of resources that a client has, which may still be encoded. */
export interface VersionList extends Iterable<readonly [name: string, version: string]> {
  readonly size: number;
  readonly digest: Digest;
  /** Those that a table does not have; the places of those that it has are marked. */
  unmatched(table: VersionTable, marks: Uint8Array): readonly (readonly [name: string, version: string])[];
  /** The same, to be kept for longer than the request that it came in. */
  kept(): VersionList;
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
    kept: () => list,
    [Symbol.iterator]: () => entries[Symbol.iterator](),
  };
  return list;
}

export const noNames: NameList = nameList([]);
export const noVersions: VersionList = versionList({});
