import { FieldReader } from "@istiod/protobuf-wire";
import type { Variant } from "../events.js";

/** A response of either variant. */
export interface ReceivedResponse {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly version: string;
  readonly resources: readonly ReceivedResource[];
  readonly names: readonly string[];
  /** Delta: names of removed resources. */
  readonly removed: readonly string[];
  /** Identifier of the control plane; usually empty. */
  readonly controlPlane: string;
  /** Length of the encoded message. */
  readonly bytes: number;
}

export interface ReceivedResource {
  readonly name: string;
  /** Delta only. */
  readonly version: string;
  readonly typeUrl: string;
  /** A view of the encoded message. */
  readonly bytes: Uint8Array;
  /** Length of its entry in the response, with its name and version. */
  readonly entryBytes: number;
}

type DecodedEntry = Omit<ReceivedResource, "entryBytes">;

/** Field numbers, which are the same in both variants. */
const fields = { version: 1, resources: 2, typeUrl: 4, nonce: 5, removed: 6 } as const;

const controlPlaneField = { sotw: 6, delta: 7 } as const;

/**
 * Decodes a `DiscoveryResponse` or `DeltaDiscoveryResponse` except for the resources themselves.
 *
 * @throws WireError if the bytes are not a message
 */
export function decodeResponse(variant: Variant, message: Uint8Array): ReceivedResponse {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.length);
  let [typeUrl, nonce, version, controlPlane] = ["", "", "", ""];
  const resources: ReceivedResource[] = [];
  const removed: string[] = [];
  const reader = new FieldReader(bytes, 0, bytes.length);
  while (reader.next()) {
    if (!reader.delimited) continue;
    const { field, start, from, to } = reader;
    if (field === fields.resources)
      resources.push({
        ...(variant === "delta" ? deltaResource(bytes, from, to) : anyIn(bytes, from, to)),
        entryBytes: to - start,
      });
    else if (field === fields.typeUrl) typeUrl = bytes.toString("utf8", from, to);
    else if (field === fields.nonce) nonce = bytes.toString("utf8", from, to);
    else if (field === fields.version) version = bytes.toString("utf8", from, to);
    else if (field === fields.removed && variant === "delta") removed.push(bytes.toString("utf8", from, to));
    else if (field === controlPlaneField[variant]) controlPlane = nameIn(bytes.subarray(from, to));
  }
  return {
    typeUrl,
    nonce,
    version,
    resources,
    removed,
    controlPlane,
    bytes: message.length,
    get names() {
      return resources.map(({ name }) => name);
    },
  };
}

/** The fields that identify a response, without its resources. */
export interface ResponseOutline {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly version: string;
  /** Number of resources. */
  readonly resources: number;
  readonly removed: number;
  /** The message without the nonce: equal for clients that receive the same resources. */
  readonly content: readonly Uint8Array[];
}

/**
 * Decodes the identifying fields of a response, and the bytes that clients may share.
 *
 * @throws WireError if the bytes are not a message
 */
export function outlineResponse(message: Uint8Array): ResponseOutline {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.length);
  let [typeUrl, nonce, version, resources, removed, from] = ["", "", "", 0, 0, 0];
  const content: Uint8Array[] = [];
  const reader = new FieldReader(bytes, 0, bytes.length);
  while (reader.next()) {
    if (!reader.delimited) continue;
    if (reader.field === fields.resources) resources++;
    else if (reader.field === fields.removed) removed++;
    else if (reader.field === fields.typeUrl) typeUrl = bytes.toString("utf8", reader.from, reader.to);
    else if (reader.field === fields.version) version = bytes.toString("utf8", reader.from, reader.to);
    else if (reader.field === fields.nonce) {
      nonce = bytes.toString("utf8", reader.from, reader.to);
      content.push(bytes.subarray(from, reader.from));
      from = reader.to;
    }
  }
  content.push(bytes.subarray(from));
  return { typeUrl, nonce, version, resources, removed, content };
}

/** A `Resource` of the delta variant: version 1, resource 2, name 3. */
function deltaResource(bytes: Buffer, from: number, to: number): DecodedEntry {
  let [name, version, typeUrl] = ["", "", ""];
  let value: Uint8Array = bytes.subarray(from, from);
  const reader = new FieldReader(bytes, from, to);
  while (reader.next()) {
    if (!reader.delimited) continue;
    if (reader.field === 3) name = bytes.toString("utf8", reader.from, reader.to);
    else if (reader.field === 1) version = bytes.toString("utf8", reader.from, reader.to);
    else if (reader.field === 2) ({ typeUrl, value } = any(bytes, reader.from, reader.to));
  }
  return { name, version, typeUrl, bytes: value };
}

function anyIn(bytes: Buffer, from: number, to: number): DecodedEntry {
  const { typeUrl, value } = any(bytes, from, to);
  return { name: typeUrl.startsWith("type.googleapis.com/") ? nameIn(value) : "", version: "", typeUrl, bytes: value };
}

function any(bytes: Buffer, from: number, to: number): { readonly typeUrl: string; readonly value: Buffer } {
  let typeUrl = "";
  let value = bytes.subarray(from, from);
  const reader = new FieldReader(bytes, from, to);
  while (reader.next()) {
    if (!reader.delimited) continue;
    if (reader.field === 1) typeUrl = bytes.toString("latin1", reader.from, reader.to);
    else if (reader.field === 2) value = bytes.subarray(reader.from, reader.to);
  }
  return { typeUrl, value };
}

/** The name is field 1 of every Envoy resource type. */
function nameIn(value: Buffer): string {
  const reader = new FieldReader(value, 0, value.length);
  while (reader.next())
    if (reader.field === 1 && reader.delimited) return value.toString("utf8", reader.from, reader.to);
  return "";
}
