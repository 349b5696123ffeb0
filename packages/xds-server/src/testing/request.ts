import { delimitedFieldSize, varintSize, writeDelimitedHeader, writeString } from "@istiod/protobuf-wire";
import type { Variant } from "../events.js";
import { complete } from "../sliced.js";
import { decodeRequest as decodeInSlices, type XdsRequest } from "../wire/request.js";

/** The content of an encoded request. Fields that the variant lacks are omitted. */
export interface WireRequest {
  /** An encoded node. */
  readonly node?: Uint8Array | undefined;
  readonly typeUrl: string;
  readonly nonce?: string;
  /** State-of-the-world: the last accepted version. */
  readonly version?: string;
  /** State-of-the-world: all names; delta: names to subscribe to. */
  readonly names?: Iterable<string>;
  /** Delta: names to unsubscribe from. */
  readonly unsubscribe?: Iterable<string>;
  /** Delta: versions of the client's resources. */
  readonly initialVersions?: Iterable<readonly [name: string, version: string]>;
  /** Error detail of a NACK. */
  readonly error?: string | undefined;
}

/**
 * Decodes a request.
 *
 * @throws WireError if the bytes are not a message
 */
export function decodeRequest(variant: Variant, bytes: Buffer): XdsRequest {
  return complete(decodeInSlices(variant, bytes));
}

/** Field numbers of `DiscoveryRequest` and `DeltaDiscoveryRequest`. */
const fields = {
  delta: { node: 1, typeUrl: 2, names: 3, unsubscribe: 4, initialVersions: 5, nonce: 6, error: 7 },
  sotw: { version: 1, node: 2, names: 3, typeUrl: 4, nonce: 5, error: 6 },
} as const;

/** Status code of Envoy's NACKs: `INTERNAL`. */
const internal = 13;

/**
 * Encodes a `DiscoveryRequest` or `DeltaDiscoveryRequest`; thousands of names cost little more than copying them.
 * Encoded parts of a request can be concatenated.
 */
export function encodeRequest(
  variant: Variant,
  { node, typeUrl, nonce = "", version = "", names = [], unsubscribe = [], initialVersions = [], error }: WireRequest,
): Uint8Array {
  const out = new Writer();
  if (node !== undefined) out.bytes(fields[variant].node, node);
  if (variant === "sotw" && version !== "") out.text(fields.sotw.version, version);
  if (typeUrl !== "") out.text(fields[variant].typeUrl, typeUrl);
  for (const name of names) out.text(fields[variant].names, name);
  if (variant === "delta") {
    for (const name of unsubscribe) out.text(fields.delta.unsubscribe, name);
    for (const [name, has] of initialVersions) out.entry(fields.delta.initialVersions, name, has);
  }
  if (nonce !== "") out.text(fields[variant].nonce, nonce);
  if (error !== undefined) out.status(fields[variant].error, internal, error);
  return out.finish();
}

class Writer {
  #target = Buffer.allocUnsafe(256);
  #offset = 0;

  text(field: number, text: string): void {
    const length = Buffer.byteLength(text);
    this.#room(delimitedFieldSize(length));
    this.#offset = writeString(this.#target, this.#offset, field, text, length);
  }

  bytes(field: number, bytes: Uint8Array): void {
    this.#header(field, bytes.length);
    this.#target.set(bytes, this.#offset);
    this.#offset += bytes.length;
  }

  /** Writes an entry of a map<string, string>. */
  entry(field: number, key: string, value: string): void {
    this.#header(field, delimitedFieldSize(Buffer.byteLength(key)) + delimitedFieldSize(Buffer.byteLength(value)));
    this.text(1, key);
    this.text(2, value);
  }

  /** Writes a `google.rpc.Status`. @param code below 128 */
  status(field: number, code: number, message: string): void {
    this.#header(field, 2 + delimitedFieldSize(Buffer.byteLength(message)));
    this.#target[this.#offset++] = 1 << 3;
    this.#target[this.#offset++] = code;
    this.text(2, message);
  }

  finish(): Uint8Array {
    return this.#target.subarray(0, this.#offset);
  }

  #header(field: number, length: number): void {
    this.#room(1 + varintSize(length) + length);
    this.#offset = writeDelimitedHeader(this.#target, this.#offset, field, length);
  }

  #room(bytes: number): void {
    if (this.#offset + bytes <= this.#target.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#target.length * 2, this.#offset + bytes));
    this.#target.copy(larger, 0, 0, this.#offset);
    this.#target = larger;
  }
}
