import { hash } from "node:crypto";
import type { Failure } from "./failure.js";

/** A named, encoded resource. Immutable: `bytes` must not be modified. */
export interface Resource {
  readonly name: string;
  /** A hash of `bytes`: equal content has an equal version in every process and replica. */
  readonly version: string;
  /** The serialized message: the `value` of the `google.protobuf.Any` that carries it. */
  readonly bytes: Uint8Array;
  /** The parts that it lacks because they could not be generated. Absent: it is complete. */
  readonly failures?: readonly Failure[];
}

/** A part of a resource's bytes that many resources share, hashed once. */
export interface ResourcePart {
  readonly bytes: Uint8Array;
  readonly digest: string;
  /** The parts that it lacks because they could not be generated. Absent: it is complete. */
  readonly failures?: readonly Failure[];
}

/** Creates a part. The bytes are not copied. */
export function resourcePart(bytes: Uint8Array, failures: readonly Failure[] = []): ResourcePart {
  return { bytes, digest: hash("sha256", bytes, "base64url"), ...(failures.length > 0 && { failures }) };
}

/**
 * Creates a resource by joining parts. Its version is a hash of the parts' hashes, so that unchanged parts of a large
 * resource are not hashed again. Part boundaries must depend on the content only.
 */
export function resourceOfParts(name: string, parts: readonly ResourcePart[]): Resource {
  // Digests have a fixed length, so joining them is unambiguous.
  const version = versionOf(hash("sha256", parts.map(({ digest }) => digest).join(""), "base64url"));
  const { buffer, byteOffset, length } = Buffer.concat(parts.map(({ bytes }) => bytes));
  const failures = parts.flatMap((part) => part.failures ?? []);
  return { name, version, bytes: new Uint8Array(buffer, byteOffset, length), ...(failures.length > 0 && { failures }) };
}

/** Length of a version in characters of base64url: 132 bits of the hash. */
const versionLength = 22;
const versionText = Buffer.allocUnsafeSlow(versionLength);

/** Returns the beginning of a digest as a separate string. A slice would retain the whole digest. */
function versionOf(digest: string): string {
  versionText.write(digest, 0, versionLength, "latin1");
  return versionText.toString("latin1");
}

/**
 * Creates a resource whose version is a hash of its bytes. The bytes are not copied.
 *
 * The version does not depend on the name: versions are only ever compared for the same name.
 */
export function resource(name: string, bytes: Uint8Array): Resource {
  return { name, version: versionOf(hash("sha256", bytes, "base64url")), bytes };
}
