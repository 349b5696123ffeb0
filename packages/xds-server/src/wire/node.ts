import { FieldReader, WireError } from "@istiod/protobuf-wire";
import { hash } from "node:crypto";
import { fromBinary } from "@bufbuild/protobuf";
import { type Node, NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { reasonOf } from "@istiod/runtime";
import { readStruct, structBudget } from "./struct.js";

const idField = 1;
const clusterField = 2;
const metadataField = 3;

/** Limits of the shared builds and of their encoded bytes (about 100 KiB for Envoy); the oldest are evicted first. */
const maxBuilds = 64;
const maxBytes = 2 * 1024 * 1024;
const builds = new Map<string, { readonly build: Node; readonly bytes: number }>();
let totalBytes = 0;

/** Limits of a node. Metadata contains a pod's annotations, which Kubernetes limits to 256 KiB. */
const maxIdBytes = 1024;
const maxMetadataBytes = 512 * 1024;
const maxMetadataValues = 4096;
const maxOtherBytes = 512 * 1024;
const maxOtherFields = 4096;

/**
 * Decodes an `envoy.config.core.v3.Node`. Fields that proxies of the same build and zone have in common, such as
 * hundreds of extensions, are decoded once and shared; they must not be modified.
 *
 * @throws WireError if the bytes are not a message, or if they exceed a limit
 */
export function decodeNode(bytes: Buffer, from: number, to: number): Node {
  let id = "";
  let cluster = "";
  let metadata: Node["metadata"];
  /** Offsets of the ranges of the other fields: start, end, start, end, … */
  const others: number[] = [];
  const budget = structBudget(maxMetadataValues);
  let metadataBytes = 0;
  let [otherFields, otherBytes] = [0, 0];
  const reader = new FieldReader(bytes, from, to);
  while (reader.next()) {
    const { field, delimited, start, from: begin, to: end } = reader;
    if (delimited && (field === idField || field === clusterField)) {
      limit("an ID or cluster", end - begin, maxIdBytes, "bytes");
      if (field === idField) id = bytes.toString("utf8", begin, end);
      else cluster = bytes.toString("utf8", begin, end);
    } else if (delimited && field === metadataField) {
      limit("metadata", (metadataBytes += end - begin), maxMetadataBytes, "bytes");
      metadata = readStruct(bytes, begin, end, budget, metadata);
    } else {
      limit("extensions and other fields", (otherBytes += end - start), maxOtherBytes, "bytes");
      limit("extensions and other fields", ++otherFields, maxOtherFields, "fields");
      if (others.at(-1) === start) others[others.length - 1] = end;
      else others.push(start, end);
    }
  }
  return { ...buildOf(bytes, others), id, cluster, ...(metadata !== undefined && { metadata }) };
}

function limit(what: string, size: number, max: number, unit: string): void {
  if (size > max) throw new WireError("too-long", `${what} of more than ${max} ${unit}`);
}

function buildOf(bytes: Buffer, ranges: readonly number[]): Node {
  const pieces: Buffer[] = [];
  for (let i = 0; i < ranges.length; i += 2) pieces.push(bytes.subarray(ranges[i], ranges[i + 1]));
  const encoded = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
  const key = hash("sha256", encoded, "base64");
  const known = builds.get(key);
  if (known !== undefined) return known.build;
  const build = decodeBuild(Uint8Array.from(encoded));
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

/** Decodes a message without unknown fields, which would occupy many times their bytes. */
function decodeBuild(encoded: Uint8Array): Node {
  try {
    return fromBinary(NodeSchema, encoded, { readUnknownFields: false });
  } catch (error) {
    throw new WireError("truncated", reasonOf(error));
  }
}
