import { BlockList, isIP } from "node:net";

/** Addresses of metadata services of clouds outside the link-local ranges. */
const metadataServices = ["100.100.100.200", "fd00:ec2::254", "fd20:ce::254"];

/**
 * Addresses that modules are never fetched from: link-local ones, metadata services of clouds, and ranges that the
 * operator names. Source: pkg/wasm/ssrf.go.
 */
export class BlockedAddresses {
  readonly #list = new BlockList();

  /** @param ranges CIDRs @throws RangeError if one is malformed */
  constructor(ranges: readonly string[] = []) {
    this.#list.addSubnet("169.254.0.0", 16);
    this.#list.addSubnet("fe80::", 10, "ipv6");
    for (const address of metadataServices) this.#list.addAddress(address, familyOf(address));
    for (const range of ranges) this.#add(range);
  }

  has(address: string): boolean {
    return this.#list.check(address, familyOf(address));
  }

  #add(range: string): void {
    const [address = "", length = ""] = range.split("/");
    const bits = isIP(address) === 6 ? 128 : 32;
    if (isIP(address) === 0 || !/^\d{1,3}$/.test(length) || Number(length) > bits)
      throw new RangeError(`is ${JSON.stringify(range)}, expected a CIDR such as 10.0.0.0/8`);
    this.#list.addSubnet(address, Number(length), familyOf(address));
  }
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
