import { FieldReader } from "@istiod/protobuf-wire";
import { hash } from "node:crypto";
import { fromBinary } from "@bufbuild/protobuf";
import { type Node, NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { readStruct } from "./struct.js";

const idField = 1;
const clusterField = 2;
const metadataField = 3;

/** Limits of the shared builds and of their encoded bytes (about 100 KiB for Envoy); the oldest are evicted first. */
const maxBuilds = 64;
const maxBytes = 2 * 1024 * 1024;
const builds = new Map<string, { readonly build: Node; readonly bytes: number }>();
let totalBytes = 0;

/**
 * Decodes an `envoy.config.core.v3.Node`. Fields that proxies of the same build and zone have in common, such as
 * hundreds of extensions, are decoded once and shared; they must not be modified.
 *
 * @throws WireError if the bytes are not a message
 */
export function decodeNode(bytes: Buffer, from: number, to: number): Node {
  let id = "";
  let cluster = "";
  let metadata: Node["metadata"];
  /** Offsets of the ranges of the other fields: start, end, start, end, … */
  const others: number[] = [];
  const reader = new FieldReader(bytes, from, to);
  while (reader.next()) {
    const { field, delimited, start, from: begin, to: end } = reader;
    if (delimited && field === idField) id = bytes.toString("utf8", begin, end);
    else if (delimited && field === clusterField) cluster = bytes.toString("utf8", begin, end);
    else if (delimited && field === metadataField) metadata = readStruct(bytes, begin, end, metadata);
    else if (others.at(-1) === start) others[others.length - 1] = end;
    else others.push(start, end);
  }
  return { ...buildOf(bytes, others), id, cluster, ...(metadata !== undefined && { metadata }) };
}

function buildOf(bytes: Buffer, ranges: readonly number[]): Node {
  const pieces: Buffer[] = [];
  for (let i = 0; i < ranges.length; i += 2) pieces.push(bytes.subarray(ranges[i], ranges[i + 1]));
  const encoded = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
  const key = hash("sha256", encoded, "base64");
  const known = builds.get(key);
  if (known !== undefined) return known.build;
  // Copied, because unknown fields of a message are views of the bytes that it was decoded from.
  const build = fromBinary(NodeSchema, Uint8Array.from(encoded));
  const size = encoded.length;
  if (size > maxBytes) return build;
  for (const [oldest, { bytes: freed }] of builds) {
    if (builds.size < maxBuilds && totalBytes + size <= maxBytes) break;
    builds.delete(oldest);
    totalBytes -= freed;
  }
  builds.set(key, { build, bytes: size });
  totalBytes += size;
  return build;
}
