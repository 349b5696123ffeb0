import { join } from "node:path";
import { type ConfigObject, decode, type Kind } from "@istiod/config-schema";
import { reasonOf } from "@istiod/runtime";
import { isAbsent } from "../files/file-system.js";
import type { StoredVersion } from "../ledger/stored-versions.js";
import { readEntry } from "./entry-file.js";
import { type EntryName, idOf, isMissingEntry, matchesDigest, restrictingKind } from "./entry-name.js";

/** Version of the format of entries. Entries of another version are ignored. */
const format = 1;

/** The newest entry of an object. */
export interface Entry extends EntryName {
  /** Undefined: the entry cannot be used. */
  readonly content: EntryContent | undefined;
  readonly fault: string | undefined;
}

export interface EntryContent extends StoredVersion {
  readonly kind: Kind;
  readonly key: string;
  readonly file: string;
  /** UID of the object in its cluster; undefined for objects of files. */
  readonly uid: string | undefined;
}

/** Returns the entry in the place of a version that could not be stored. */
export function missingEntry(name: EntryName): Entry {
  return { ...name, content: undefined, fault: "stands for a version that could not be stored" };
}

/** Returns the text of an entry; undefined for kinds whose objects cannot be encoded. */
export function encodeEntry(
  kind: Kind,
  {
    key,
    object,
    file,
    uid,
  }: {
    readonly key: string;
    readonly object: ConfigObject<unknown, unknown>;
    readonly file: string;
    readonly uid?: string | undefined;
  },
): string | undefined {
  const manifest = kind.encode?.(object);
  return manifest === undefined ? undefined : JSON.stringify({ format, kind: kind.kind, key, file, uid, manifest });
}

/** Reads an entry; undefined if another process removed it meanwhile. */
export async function loadEntry(directory: string, name: EntryName, cluster: string): Promise<Entry | undefined> {
  if (isMissingEntry(name)) return missingEntry(name);
  try {
    const text = await readEntry(join(directory, name.name));
    if (!matchesDigest(name, text)) return { ...name, content: undefined, fault: "does not match its digest" };
    return { ...name, content: decodeEntry(name, text, cluster), fault: undefined };
  } catch (cause) {
    if (isAbsent(cause)) return undefined;
    return { ...name, content: undefined, fault: reasonOf(cause) };
  }
}

/** Describes a version by its place in the order: a time in nanoseconds, or a resource version. */
export function describeVersion(order: bigint, uid: string | undefined): string {
  if (uid !== undefined) return `resource version ${order}`;
  return `stored at ${new Date(Number(order / 1_000_000n)).toISOString()}`;
}

function decodeEntry({ id, order }: EntryName, text: string, cluster: string): EntryContent {
  const entry = JSON.parse(text) as {
    readonly format: unknown;
    readonly kind: unknown;
    readonly key: unknown;
    readonly file: unknown;
    readonly uid: unknown;
    readonly manifest: unknown;
  };
  if (entry.format !== format) throw new Error(`has format ${JSON.stringify(entry.format)}, expected ${format}`);
  const kind = restrictingKind(String(entry.kind));
  if (kind === undefined) throw new Error(`has kind ${JSON.stringify(entry.kind)}, expected a kind that restricts`);
  const [decoded] = decode(entry.manifest, { cluster, kinds: [kind] });
  if (decoded?.outcome !== "accepted")
    throw new Error(`is not valid any more: ${decoded?.issues[0]?.message ?? "no object"}`);
  if (idOf(kind, decoded.key) !== id || typeof entry.file !== "string")
    throw new Error("is of another object than its name says");
  const uid = typeof entry.uid === "string" ? entry.uid : undefined;
  const version = describeVersion(order, uid);
  return { kind, key: decoded.key, object: decoded.object, file: entry.file, uid, version };
}
