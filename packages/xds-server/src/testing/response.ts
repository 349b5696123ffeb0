import { fromBinary } from "@bufbuild/protobuf";
import { DeltaDiscoveryResponseSchema, DiscoveryResponseSchema } from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import type { Variant } from "../events.js";
import { Reader } from "../wire/reader.js";

/** A response as a client of either variant sees it. */
export interface ReceivedResponse {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly version: string;
  readonly resources: readonly ReceivedResource[];
  readonly names: readonly string[];
  /** Delta: names that are no more. */
  readonly removed: readonly string[];
  /** Length of the encoded message. */
  readonly bytes: number;
}

export interface ReceivedResource {
  readonly name: string;
  /** Delta only. */
  readonly version: string;
  readonly typeUrl: string;
  readonly bytes: Uint8Array;
}

export function decodeResponse(variant: Variant, message: Uint8Array): ReceivedResponse {
  if (variant === "delta") {
    const { typeUrl, nonce, systemVersionInfo: version, resources, removedResources: removed } = fromBinary(DeltaDiscoveryResponseSchema, message);
    return complete({
      typeUrl,
      nonce,
      version,
      removed,
      bytes: message.length,
      resources: resources.map(({ name, version, resource }) => ({
        name,
        version,
        typeUrl: resource?.typeUrl ?? "",
        bytes: resource?.value ?? new Uint8Array(),
      })),
    });
  }
  const { typeUrl, nonce, versionInfo: version, resources } = fromBinary(DiscoveryResponseSchema, message);
  return complete({
    typeUrl,
    nonce,
    version,
    removed: [],
    bytes: message.length,
    resources: resources.map(({ typeUrl, value }) => ({ name: nameIn(value), version: "", typeUrl, bytes: value })),
  });
}

function complete(response: Omit<ReceivedResponse, "names">): ReceivedResponse {
  return { ...response, names: response.resources.map(({ name }) => name) };
}

/** Every resource type that Envoy knows has its name in field 1. */
function nameIn(value: Uint8Array): string {
  const reader = new Reader(value, 0, value.length);
  while (reader.next()) if (reader.field === 1 && reader.delimited) return Buffer.from(value.subarray(reader.from, reader.to)).toString();
  return "";
}
