import { Digest } from "./digest.js";
import type { Sliced } from "../sliced.js";
import { type NameVersion, unmatchedIn, type VersionTable } from "./version-table.js";

/** Names in a request, decoded on iteration. */
export interface NameList extends Iterable<string> {
  /** Number of entries, including duplicates. */
  readonly size: number;
  readonly digest: Digest;
  /** Length of the longest name in bytes. */
  readonly longest: number;
}

/** Versions of the resources that a client has, decoded on iteration. */
export interface VersionList extends Iterable<readonly [name: string, version: string]> {
  readonly size: number;
  readonly digest: Digest;
  /** Length of the longest entry in bytes. */
  readonly longest: number;
  /** Estimated size in bytes of what is kept with this list. */
  readonly bytes: number;
  /** Returns the entries that are not in the table, and sets the marks of those that are. */
  unmatched(table: VersionTable, marks: Uint8Array): Sliced<readonly NameVersion[]>;
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
    get longest() {
      return names.reduce((longest, name) => Math.max(longest, Buffer.byteLength(name)), 0);
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
    get longest() {
      return entries.reduce((longest, entry) => Math.max(longest, Buffer.byteLength(entry.join(""))), 0);
    },
    get bytes() {
      return entries.reduce((sum, entry) => sum + entry.join("").length, 0);
    },
    unmatched: (table, marks) => unmatchedIn(entries, table, marks),
    detach: () => list,
    [Symbol.iterator]: () => entries[Symbol.iterator](),
  };
  return list;
}

export const noNames: NameList = nameList([]);
export const noVersions: VersionList = versionList({});
