import { equivalentAddresses } from "./embedded-ipv4.js";
import { hasPrefix, ipBytes } from "./ip-bytes.js";

/** A range of addresses in CIDR notation. */
export interface AddressRange {
  readonly text: string;
  readonly prefix: readonly number[];
  readonly bits: number;
}

/**
 * Parses a range such as `10.0.0.0/8`. Bits after the prefix are ignored. A range of IPv4-mapped addresses is one of
 * IPv4 addresses, as in Go.
 *
 * @throws RangeError for other text
 */
export function parseAddressRange(text: string): AddressRange {
  const [, address = "", length = ""] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const bytes = address.includes("%") ? undefined : ipBytes(address);
  const bits = Number(length);
  if (bytes === undefined || bits > bytes.length * 8)
    throw new RangeError(`${JSON.stringify(text)} is not a range of addresses such as 10.0.0.0/8`);
  const isMapped = bytes.length === 16 && bits >= 96 && hasPrefix(bytes, mapped, 96);
  return isMapped ? { text, prefix: bytes.slice(12), bits: bits - 96 } : { text, prefix: bytes, bits };
}

const mapped = ipBytes("::ffff:0:0") ?? [];

/** A kind of addresses that no key server has. */
interface Reserved {
  readonly name: string;
  readonly ranges: readonly AddressRange[];
}

/**
 * Addresses that are always blocked, as in Istio (pkg/security/dial.go): link-local ones, which include the metadata
 * endpoints of most clouds, and those of metadata endpoints elsewhere (Alibaba Cloud, and AWS with IPv6). Private and
 * loopback addresses are not among them, because providers within a cluster have such addresses.
 */
const reserved: readonly Reserved[] = [
  {
    name: "a link-local address",
    // Multicast with link-local scope has the scope 2 and any flags.
    ranges: [
      "169.254.0.0/16",
      "fe80::/10",
      "224.0.0.0/24",
      ...Array.from({ length: 16 }, (_, flags) => `ff${flags.toString(16)}2::/16`),
    ].map(parseAddressRange),
  },
  { name: "an address of cloud metadata", ranges: ["100.100.100.200/32", "fd00:ec2::/32"].map(parseAddressRange) },
];

const loopbackRanges = ["127.0.0.0/8", "::1/128"].map(parseAddressRange);

/** The addresses that must not be reached. */
export class AddressRules {
  readonly #blocked: readonly AddressRange[];

  /** @param blocked ranges that are blocked in addition to the ones that always are */
  constructor(blocked: readonly AddressRange[] = []) {
    this.#blocked = blocked;
  }

  /**
   * Returns the reason why an address must not be reached; undefined if it may. IPv6 addresses that contain an IPv4
   * address are blocked if that is.
   */
  blockedReason(address: string): string | undefined {
    const bytes = ipBytes(address);
    if (bytes === undefined) return "is not an IP address";
    const forms = equivalentAddresses(bytes);
    const kind = reserved.find(({ ranges }) => isWithin(forms, ranges) !== undefined);
    if (kind !== undefined) return `is ${kind.name}`;
    const range = isWithin(forms, this.#blocked);
    return range && `is in the blocked range ${range.text}`;
  }
}

/** Reports whether an address is of this machine, in any form. */
export function isOwnAddress(address: string): boolean {
  const bytes = ipBytes(address);
  return bytes !== undefined && isWithin(equivalentAddresses(bytes), loopbackRanges) !== undefined;
}

function isWithin(forms: readonly (readonly number[])[], ranges: readonly AddressRange[]): AddressRange | undefined {
  return ranges.find(({ prefix, bits }) => forms.some((bytes) => hasPrefix(bytes, prefix, bits)));
}
