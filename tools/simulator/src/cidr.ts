import { BlockList, isIP } from "node:net";
import type { CidrRange } from "@istiod/envoy-api/envoy/config/core/v3/address";

/** The length in bits of a range's prefix if it holds the address. */
export function prefixLength({ addressPrefix, prefixLen }: CidrRange, address: string): number | undefined {
  const family = (text: string): "ipv4" | "ipv6" => (isIP(text) === 6 ? "ipv6" : "ipv4");
  if (isIP(addressPrefix) === 0 || isIP(address) !== isIP(addressPrefix)) return undefined;
  const bits = prefixLen ?? 0;
  const block = new BlockList();
  block.addSubnet(addressPrefix, bits, family(addressPrefix));
  return block.check(address, family(address)) ? bits : undefined;
}
