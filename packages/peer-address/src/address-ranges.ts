import { BlockList } from "node:net";
import { bareAddress } from "./bare-address.js";

/** Ranges of addresses in CIDR notation. */
export class AddressRanges {
  readonly #ranges = new BlockList();

  /** @throws RangeError for text that is not a range, such as an address without a length */
  constructor(ranges: Iterable<string>) {
    for (const text of ranges) {
      const [, address = "", length = ""] = /^([0-9a-fA-F:.]+)\/(\d{1,3})$/.exec(text) ?? [];
      const { text: bare, family } = bareAddress(address);
      const bits = Number(length);
      if (family === undefined || bare !== address || bits > (family === "ipv4" ? 32 : 128))
        throw new RangeError(`${JSON.stringify(text)} is not a range of addresses such as 10.0.0.0/8`);
      this.#ranges.addSubnet(bare, bits, family);
    }
  }

  /** Reports whether an address is in one of the ranges. IPv4-mapped addresses count as IPv4. */
  has(address: string | undefined): boolean {
    const { text, family } = bareAddress(address ?? "");
    return family !== undefined && this.#ranges.check(text, family);
  }
}
