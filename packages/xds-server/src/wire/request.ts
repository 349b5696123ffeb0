import { FieldReader } from "@istiod/protobuf-wire";
import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { DeltaDiscoveryRequest, DiscoveryRequest } from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import type { Variant } from "../events.js";
import { sliceNames, type Sliced } from "../sliced.js";
import { viewOf } from "./digest.js";
import { EncodedNames, EncodedVersions, RepeatedField } from "./encoded-lists.js";
import { decodeNode } from "./node.js";
import { nameList, noNames, noVersions, versionList, type NameList, type VersionList } from "./names.js";

/** A `DiscoveryRequest` or `DeltaDiscoveryRequest`. Lists that the variant lacks are empty. */
export interface XdsRequest {
  /** Decoded on access, because only that of a stream's first request is used. Throws a WireError if it is invalid. */
  readonly node: Node | undefined;
  readonly typeUrl: string;
  readonly responseNonce: string;
  readonly errorDetail: { readonly code: number; readonly message: string } | undefined;
  /** State-of-the-world: set if the client has accepted a response, maybe on an earlier stream. */
  readonly hasVersion?: true;
  /** State-of-the-world: all names; delta: names to subscribe to. */
  readonly names: NameList;
  /** Set if the request lists names, even if all of them were removed because they are too long to exist. */
  readonly isExplicit?: true;
  /** Delta: names to unsubscribe from. */
  readonly unsubscribe: NameList;
  /** Delta: versions of the resources that the client had when it connected. */
  readonly initialVersions: VersionList;
}

/** Reports whether a request lists names: without names it is a wildcard subscription, or changes none. */
export function isExplicit({ names, isExplicit: explicit }: XdsRequest): boolean {
  return names.size > 0 || explicit === true;
}

/** Converts a decoded message of either variant. */
export function requestOf(message: DeltaDiscoveryRequest | DiscoveryRequest): XdsRequest {
  const { node, typeUrl, responseNonce } = message;
  const status = message.errorDetail;
  const errorDetail = status && { code: status.code, message: status.message.slice(0, maxMessageBytes) };
  const lists =
    message.$typeName === "envoy.service.discovery.v3.DiscoveryRequest"
      ? {
          names: nameList(message.resourceNames),
          unsubscribe: noNames,
          initialVersions: noVersions,
          ...(message.versionInfo !== "" && { hasVersion: true as const }),
        }
      : {
          names: nameList(message.resourceNamesSubscribe),
          unsubscribe: nameList(message.resourceNamesUnsubscribe),
          initialVersions: versionList(message.initialResourceVersions),
        };
  return { node, typeUrl, responseNonce, errorDetail, ...lists };
}

const fields = {
  delta: {
    node: 1,
    typeUrl: 2,
    names: 3,
    unsubscribe: 4,
    initialVersions: 5,
    responseNonce: 6,
    errorDetail: 7,
    version: -1,
  },
  sotw: {
    node: 2,
    typeUrl: 4,
    names: 3,
    unsubscribe: -1,
    initialVersions: -1,
    responseNonce: 5,
    errorDetail: 6,
    version: 1,
  },
} as const;

/**
 * Decodes a request in slices.
 *
 * Its lists are decoded on iteration: a reconnecting proxy lists thousands of names and versions,
 * and comparing their digest with a set's is usually enough. The lists reference the given bytes; call `detach` to use
 * them later. Fields of the node may be shared between requests and must not be modified.
 *
 * @throws WireError if the bytes are not a message
 */
export function* decodeRequest(variant: Variant, bytes: Buffer): Sliced<XdsRequest> {
  const numbers = fields[variant];
  let nodeRange: readonly [from: number, to: number] | undefined;
  let typeUrl = "";
  let responseNonce = "";
  let errorDetail: XdsRequest["errorDetail"];
  let hasVersion = false;
  let names: RepeatedField | undefined;
  let unsubscribe: RepeatedField | undefined;
  let versions: RepeatedField | undefined;
  const view = viewOf(bytes);
  const reader = new FieldReader(bytes, 0, bytes.length);
  for (let handled = 1; reader.next(); handled++) {
    if (handled % sliceNames === 0) yield 0;
    const { field, from, to } = reader;
    if (!reader.delimited) continue;
    if (field === numbers.names) (names ??= new RepeatedField(bytes, field, reader.start)).addName(view, from, to);
    else if (field === numbers.initialVersions)
      (versions ??= new RepeatedField(bytes, field, reader.start)).addVersion(view, from, to);
    else if (field === numbers.unsubscribe)
      (unsubscribe ??= new RepeatedField(bytes, field, reader.start)).addName(view, from, to);
    else if (field === numbers.typeUrl) typeUrl = bytes.toString("utf8", from, to);
    else if (field === numbers.responseNonce) responseNonce = bytes.toString("utf8", from, to);
    else if (field === numbers.version) hasVersion = to > from;
    else if (field === numbers.node) nodeRange = [from, to];
    else if (field === numbers.errorDetail) errorDetail = decodeStatus(bytes, from, to);
  }
  return {
    get node() {
      return nodeRange && decodeNode(bytes, ...nodeRange);
    },
    typeUrl,
    responseNonce,
    errorDetail,
    names: names === undefined ? noNames : new EncodedNames(names),
    unsubscribe: unsubscribe === undefined ? noNames : new EncodedNames(unsubscribe),
    initialVersions: versions === undefined ? noVersions : new EncodedVersions(versions),
    ...(hasVersion && { hasVersion }),
  };
}

/** A client's error message is cut at this length, because it is logged, kept, and searched for names of resources. */
const maxMessageBytes = 4096;

function decodeStatus(bytes: Buffer, from: number, to: number): { code: number; message: string } {
  let code = 0;
  let message = "";
  const reader = new FieldReader(bytes, from, to);
  while (reader.next()) {
    if (reader.field === 1 && !reader.delimited) code = reader.value;
    else if (reader.field === 2 && reader.delimited)
      message = bytes.toString("utf8", reader.from, Math.min(reader.to, reader.from + maxMessageBytes));
  }
  return { code, message };
}
