import { delimitedFieldSize, varintSize, writeDelimitedHeader, writeString } from "@istiod/protobuf-wire";
import { piecesOf, type Resource, sizeOf } from "@istiod/resources";
import type { Variant } from "../events.js";

/** Encoded fields of a response, as consecutive pieces. Shared between calls; must not be modified. */
export interface Body {
  readonly pieces: readonly Uint8Array[];
  readonly length: number;
}

/** Resources of at least this size become pieces of their own instead of being copied. */
const minReferencedBytes = 32 * 1024;

/** Field numbers shared by `DiscoveryResponse` and `DeltaDiscoveryResponse`. */
const resourcesField = 2;
const removedField = 6;

/** Encodes the `resources` of a response: each in an `Any`, for delta in a `Resource` with name and version. */
export function encodeResources(variant: Variant, typeUrl: string, resources: readonly Resource[]): Body {
  const layouts = resources.map((resource) => layout(variant, typeUrl, resource));
  const own = Buffer.allocUnsafeSlow(
    layouts.reduce((sum, { header, value }) => sum + header + (value < minReferencedBytes ? value : 0), 0),
  );
  const pieces: Uint8Array[] = [];
  let start = 0;
  let offset = 0;
  for (const [i, resource] of resources.entries()) {
    const { message, any, value, name, version } = layouts[i] as Layout;
    offset = writeDelimitedHeader(own, offset, resourcesField, message);
    if (variant === "delta") {
      offset = writeString(own, offset, 3, resource.name, name);
      offset = writeString(own, offset, 1, resource.version, version);
      offset = writeDelimitedHeader(own, offset, 2, any);
    }
    offset = writeString(own, offset, 1, typeUrl, typeUrl.length);
    offset = writeDelimitedHeader(own, offset, 2, value);
    if (value < minReferencedBytes) {
      own.set(resource.bytes, offset);
      offset += value;
    } else {
      pieces.push(own.subarray(start, offset), ...piecesOf(resource));
      start = offset;
    }
  }
  if (offset > start) pieces.push(own.subarray(start, offset));
  return { pieces, length: pieces.reduce((sum, piece) => sum + piece.length, 0) };
}

/** Encodes the `removed_resources` of a delta response. */
export function encodeRemoved(names: readonly string[]): Body {
  const lengths = names.map((name) => Buffer.byteLength(name));
  const own = Buffer.allocUnsafeSlow(lengths.reduce((sum, length) => sum + delimitedFieldSize(length), 0));
  let offset = 0;
  for (const [i, name] of names.entries()) offset = writeString(own, offset, removedField, name, lengths[i] ?? 0);
  return { pieces: own.length > 0 ? [own] : [], length: own.length };
}

interface Layout {
  /** Byte lengths of the field's message, of the `Any` in it, of the `Any`'s value, and of name and version. */
  readonly message: number;
  readonly any: number;
  readonly value: number;
  readonly name: number;
  readonly version: number;
  /** Bytes of everything except the value. */
  readonly header: number;
}

function layout(variant: Variant, typeUrl: string, resource: Resource): Layout {
  const value = sizeOf(resource);
  const any = delimitedFieldSize(typeUrl.length) + 1 + varintSize(value) + value;
  if (variant === "sotw") {
    return { message: any, any, value, name: 0, version: 0, header: 1 + varintSize(any) + any - value };
  }
  const name = Buffer.byteLength(resource.name);
  const version = Buffer.byteLength(resource.version);
  const message = delimitedFieldSize(name) + delimitedFieldSize(version) + 1 + varintSize(any) + any;
  return { message, any, value, name, version, header: 1 + varintSize(message) + message - value };
}
