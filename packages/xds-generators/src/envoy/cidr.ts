import { create } from "@bufbuild/protobuf";
import { type CidrRange, CidrRangeSchema } from "@istiod/envoy-api/envoy/config/core/v3/address";
import { type IpPrefix, parseIpPrefix } from "./ip-prefix.js";

/** Parses an address or CIDR; undefined if the string is neither. */
export function parseCidrRange(text: string): CidrRange | undefined {
  const prefix = parseIpPrefix(text);
  return prefix && toCidrRange(prefix);
}

export function toCidrRange(prefix: IpPrefix): CidrRange {
  return create(CidrRangeSchema, { addressPrefix: prefix.address, prefixLen: prefix.bits });
}
