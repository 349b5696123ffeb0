import { create, toBinary } from "@bufbuild/protobuf";
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema,
} from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import type { Variant } from "../events.js";
import type { Answer } from "../source.js";

/** Encodes the response to an on-demand request. Its resources may be of several types. */
export function encodeOnDemandResponse(
  variant: Variant,
  typeUrl: string,
  nonce: string,
  { resources, controlPlane }: Answer,
): Uint8Array {
  const common = { typeUrl, nonce, ...(controlPlane !== undefined && { controlPlane: { identifier: controlPlane } }) };
  const anys = resources.map((each) => ({ typeUrl: each.typeUrl, value: each.bytes }));
  if (variant === "sotw")
    return toBinary(DiscoveryResponseSchema, create(DiscoveryResponseSchema, { ...common, resources: anys }));
  const named = resources.map(({ name }, i) => ({ name, resource: anys[i] ?? {} }));
  return toBinary(DeltaDiscoveryResponseSchema, create(DeltaDiscoveryResponseSchema, { ...common, resources: named }));
}
