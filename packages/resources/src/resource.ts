import { hash } from "node:crypto";

/** A named, encoded resource. Immutable: nobody may write into `bytes`. */
export interface Resource {
  readonly name: string;
  /** A hash of `bytes`: equal content has an equal version in every process and replica. */
  readonly version: string;
  /** The serialized message: the `value` of the `google.protobuf.Any` that carries it. */
  readonly bytes: Uint8Array;
}

/** 22 characters of base64url are 132 bits of the hash. */
const versionLength = 22;

/**
 * Makes a resource of serialized bytes, with a hash of them as its version. The bytes are kept, not copied.
 *
 * The version does not depend on the name: versions are only ever compared for the same name.
 */
export function resource(name: string, bytes: Uint8Array): Resource {
  return { name, version: hash("sha256", bytes, "base64url").slice(0, versionLength), bytes };
}
