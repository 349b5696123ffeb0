import { hash } from "node:crypto";

/** A named, encoded resource. Immutable: nobody may write into `bytes`. */
export interface Resource {
  readonly name: string;
  /** A hash of `bytes`: equal content has an equal version in every process and replica. */
  readonly version: string;
  /** The serialized message: the `value` of the `google.protobuf.Any` that carries it. */
  readonly bytes: Uint8Array;
}

/** A stretch of a resource's bytes that many resources have in common, hashed once for all of them. */
export interface ResourcePart {
  readonly bytes: Uint8Array;
  readonly digest: string;
}

/** The bytes, which are kept and not copied, with their hash. */
export function resourcePart(bytes: Uint8Array): ResourcePart {
  return { bytes, digest: hash("sha256", bytes, "base64url") };
}

/**
 * Makes a resource of parts that are joined. Its version is a hash of theirs, so that the parts of a large resource that did not change are
 * not hashed again: where parts end must follow from the content alone.
 */
export function resourceOfParts(name: string, parts: readonly ResourcePart[]): Resource {
  // Digests are all of one length, so that no two lists of them join to one text.
  const version = versionOf(hash("sha256", parts.map(({ digest }) => digest).join(""), "base64url"));
  const { buffer, byteOffset, length } = Buffer.concat(parts.map(({ bytes }) => bytes));
  return { name, version, bytes: new Uint8Array(buffer, byteOffset, length) };
}

/** 22 characters of base64url are 132 bits of the hash. */
const versionLength = 22;
const versionText = Buffer.allocUnsafeSlow(versionLength);

/** The beginning of a digest, as a string of its own: a slice would keep the whole digest for as long as the resource lives. */
function versionOf(digest: string): string {
  versionText.write(digest, 0, versionLength, "latin1");
  return versionText.toString("latin1");
}

/**
 * Makes a resource of serialized bytes, with a hash of them as its version. The bytes are kept, not copied.
 *
 * The version does not depend on the name: versions are only ever compared for the same name.
 */
export function resource(name: string, bytes: Uint8Array): Resource {
  return { name, version: versionOf(hash("sha256", bytes, "base64url")), bytes };
}
