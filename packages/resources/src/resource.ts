import { createHash, hash } from "node:crypto";
import { type Failure, sameFailures } from "./failure.js";

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
  /** A hash of all pieces, joined. First, because it tells parts apart at once. */
  readonly digest: string;
  readonly pieces: readonly Uint8Array[];
  /** Bytes of all pieces. */
  readonly size: number;
  /** True if the last field of the part before continues in it. Absent: parts are of whole fields. */
  readonly continues?: true;
  /** The parts that it lacks because they could not be generated. Absent: it is complete. */
  readonly failures?: readonly Failure[];
}

/** Creates a part. The bytes are not copied: parts can share pieces. */
export function resourcePart(
  bytes: Uint8Array | readonly Uint8Array[],
  failures: readonly Failure[] = [],
): ResourcePart {
  const pieces = bytes instanceof Uint8Array ? [bytes] : bytes;
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  return { digest: digestOf(pieces), pieces, size, ...(failures.length > 0 && { failures }) };
}

function digestOf(pieces: readonly Uint8Array[]): string {
  const [first] = pieces;
  if (pieces.length === 1 && first !== undefined) return hash("sha256", first, "base64url");
  const digest = createHash("sha256");
  for (const piece of pieces) digest.update(piece);
  return digest.digest("base64url");
}

/**
 * Creates a resource by joining parts. Its version is a hash of the parts' hashes, so that unchanged parts of a large
 * resource are not hashed again. Part boundaries must depend on the content only. They are joined when the bytes or the
 * pieces are first read: other resources share the parts, and a resource that nobody has requested would double their
 * memory.
 */
export function resourceOfParts(name: string, parts: readonly ResourcePart[]): Resource {
  // Digests have a fixed length, so joining them is unambiguous.
  const version = versionOf(hash("sha256", parts.map(({ digest }) => digest).join(""), "base64url"));
  const failures = parts.flatMap((part) => part.failures ?? []);
  return new JoinedResource(name, version, parts, failures);
}

/** A resource whose parts are joined when its bytes are first read. */
class JoinedResource implements Resource {
  readonly name: string;
  readonly version: string;
  declare readonly bytes: Uint8Array;
  readonly failures?: readonly Failure[];
  readonly #parts: readonly ResourcePart[];
  #pieces: readonly Uint8Array[] | undefined;

  constructor(name: string, version: string, parts: readonly ResourcePart[], failures: readonly Failure[]) {
    this.name = name;
    this.version = version;
    let joined: Uint8Array | undefined;
    // An own property, so that copies of the resource have the bytes, too.
    Object.defineProperty(this, "bytes", {
      enumerable: true,
      get: () => (joined ??= join(parts)),
    });
    this.#parts = parts;
    if (failures.length > 0) this.failures = failures;
  }

  get parts(): readonly ResourcePart[] {
    return this.#parts;
  }

  get size(): number {
    return this.#parts.reduce((sum, { size }) => sum + size, 0);
  }

  get pieces(): readonly Uint8Array[] {
    return (this.#pieces ??= blocksOf(this.#parts));
  }

  /** Compares versions in place of bytes, so that neither are joined. */
  equals({ name, version, failures }: Resource): boolean {
    return this.name === name && this.version === version && sameFailures(this.failures ?? [], failures ?? []);
  }

  /** @see ResourceSet.fingerprint */
  fingerprint(): number {
    return Buffer.from(this.version, "base64url").readInt32BE() | 1;
  }
}

/** Returns the parts that a resource was joined from; undefined if it was not. */
export function partsOf(joined: Resource): readonly ResourcePart[] | undefined {
  return joined instanceof JoinedResource ? joined.parts : undefined;
}

/** Returns the number of bytes of a resource, without joining them. */
export function sizeOf(resource: Resource): number {
  return resource instanceof JoinedResource ? resource.size : resource.bytes.length;
}

/**
 * Returns the bytes of a resource in consecutive pieces, which must not be modified. Resources with runs of the same
 * parts share most of their pieces: a change of a large resource takes the memory of one of them.
 */
export function piecesOf(resource: Resource): readonly Uint8Array[] {
  return resource instanceof JoinedResource ? resource.pieces : [resource.bytes];
}

/** Most bytes of a block of several parts. */
const maxBlockBytes = 32 * 1024;

/**
 * Joins consecutive parts, since a piece costs more to write than to copy if it is small. A block ends at a boundary
 * part, so that blocks before and after a changed part stay as they are.
 */
function blocksOf(parts: readonly ResourcePart[]): readonly Uint8Array[] {
  const blocks: Uint8Array[] = [];
  let [from, bytes] = [0, 0];
  for (const [i, part] of parts.entries()) {
    if (i > from && part.size >= maxBlockBytes) {
      blocks.push(blockOf(parts.slice(from, i)));
      [from, bytes] = [i, 0];
    }
    bytes += part.size;
    if (!isBoundary(part) && bytes < maxBlockBytes && i < parts.length - 1) continue;
    blocks.push(blockOf(parts.slice(from, i + 1)));
    [from, bytes] = [i + 1, 0];
  }
  return blocks;
}

/** Reports whether a part is one of a quarter of all, by its content. */
function isBoundary({ digest }: ResourcePart): boolean {
  return digest < "F";
}

interface Block {
  readonly parts: readonly ResourcePart[];
  readonly bytes: Uint8Array;
}

/** The last block that ends with a part. */
const lastBlocks = new WeakMap<ResourcePart, Block>();

function blockOf(parts: readonly ResourcePart[]): Uint8Array {
  const last = parts.at(-1);
  if (last === undefined) return join([]);
  const [only] = last.pieces;
  if (parts.length === 1 && last.pieces.length === 1 && only !== undefined) return only;
  const known = lastBlocks.get(last);
  if (known?.parts.length === parts.length && known.parts.every((part, i) => part === parts[i])) return known.bytes;
  const bytes = join(parts);
  lastBlocks.set(last, { parts, bytes });
  return bytes;
}

function join(parts: readonly ResourcePart[]): Uint8Array {
  const { buffer, byteOffset, length } = Buffer.concat(parts.flatMap(({ pieces }) => pieces));
  return new Uint8Array(buffer, byteOffset, length);
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
