import { createHash } from "node:crypto";
import { allKinds, type Kind, subjectOf } from "@istiod/config-schema";

/** The name of an entry: the identity of its object, its place in the order of versions, and its content's digest. */
export interface EntryName {
  readonly id: string;
  readonly name: string;
  readonly order: bigint;
}

/** Longest identity that is written out. Longer ones are replaced by a digest. */
const maxIdLength = 160;

const restrictingKinds = new Map(
  allKinds.filter((kind) => kind.failClosed !== undefined).map((kind) => [kind.kind, kind]),
);

/** Returns a kind that restricts by its name. */
export function restrictingKind(name: string): Kind | undefined {
  return restrictingKinds.get(name);
}

/** Returns the identity of an object. */
export function idOf(kind: Kind, key: string): string {
  const { namespace, name } = subjectOf(kind, key);
  const id = `${kind.kind}~${namespace}~${name}`;
  return id.length <= maxIdLength ? id : `${kind.kind}~${createHash("sha256").update(key).digest("hex")}`;
}

/** Returns the object with an identity; undefined if the identity is a digest. */
export function identityIn(id: string): { readonly kind: Kind; readonly key: string } | undefined {
  const [kindName = "", namespace, name] = id.split("~");
  const kind = restrictingKinds.get(kindName);
  return kind === undefined || namespace === undefined || name === undefined
    ? undefined
    : { kind, key: `${namespace}/${name}` };
}

/** Returns the name of a version's entry. */
export function entryName(id: string, order: bigint, text: string): EntryName {
  return { id, order, name: `${id}~${order.toString().padStart(20, "0")}~${digestOf(text)}.json` };
}

/** Takes the place of the digest. It sorts below every digest, so that the version itself applies once it is stored. */
const missing = "-missing";

/** Returns the name of an empty entry in the place of a version that could not be stored. */
export function missingEntryName(id: string, order: bigint): EntryName {
  return { id, order, name: `${id}~${order.toString().padStart(20, "0")}~${missing}.json` };
}

/** Reports whether an entry is in the place of a version that could not be stored. */
export function isMissingEntry({ name }: { readonly name: string }): boolean {
  return name.endsWith(`~${missing}.json`);
}

/** Parses the name of an entry; undefined if it is not one. */
export function parseEntryName(name: string): EntryName | undefined {
  const match = /^([A-Za-z]+(?:~[^~]+){1,2})~(\d{20})~(?:[0-9a-f]{32}|-missing)\.json$/.exec(name);
  return match?.[1] === undefined || match[2] === undefined
    ? undefined
    : { id: match[1], name, order: BigInt(match[2]) };
}

/** Reports whether an entry has this content, by its name. */
export function matchesDigest({ name }: { readonly name: string }, text: string): boolean {
  return name.endsWith(`~${digestOf(text)}.json`);
}

/** Reports whether an entry applies rather than another of the same object. */
export function isAbove(a: Omit<EntryName, "id">, b: Omit<EntryName, "id">): boolean {
  return a.order > b.order || (a.order === b.order && a.name > b.name);
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
