import { BlockList, isIP, isIPv4 } from "node:net";

/** Address families of a proxy. */
export type IpMode = "IPv4" | "IPv6" | "Dual";

/** Returns the address families of a proxy; IPv4 if it has no address. */
export function ipModeOf(addresses: readonly string[]): IpMode {
  const valid = addresses.filter((address) => isIP(address) !== 0);
  if (valid.every((address) => isIPv4(address))) {
    return "IPv4";
  }
  return valid.some((address) => isIPv4(address)) ? "Dual" : "IPv6";
}

export function supportsIPv4(mode: IpMode): boolean {
  return mode !== "IPv6";
}

export function supportsIPv6(mode: IpMode): boolean {
  return mode !== "IPv4";
}

function notGlobal(): BlockList {
  const list = new BlockList();
  list.addAddress("0.0.0.0", "ipv4");
  list.addAddress("255.255.255.255", "ipv4");
  list.addSubnet("127.0.0.0", 8, "ipv4");
  list.addSubnet("169.254.0.0", 16, "ipv4");
  list.addSubnet("224.0.0.0", 4, "ipv4");
  list.addAddress("::", "ipv6");
  list.addAddress("::1", "ipv6");
  list.addSubnet("fe80::", 10, "ipv6");
  list.addSubnet("ff00::", 8, "ipv6");
  return list;
}

/** Returns the first global unicast address (not unspecified, loopback, link-local or multicast). */
export function firstGlobalUnicast(addresses: readonly string[]): string | undefined {
  const excluded = notGlobal();
  return addresses.find((address) => {
    const family = isIP(address);
    return family !== 0 && !excluded.check(address, family === 4 ? "ipv4" : "ipv6");
  });
}

function familyOf(addressOrPrefix: string): 0 | 4 | 6 {
  const [address = ""] = addressOrPrefix.split("/", 1);
  return isIP(address) as 0 | 4 | 6;
}

/**
 * Returns the addresses (or prefixes) of a service that a proxy of `mode` can reach. For a dual-stack proxy, the family
 * of the first address (pilot/pkg/util/network/ip.go, FilterAddressesByIPFamily).
 */
export function addressesForIpMode(addresses: readonly string[], mode: IpMode): readonly string[] {
  const v4 = supportsIPv4(mode) ? addresses.filter((address) => familyOf(address) === 4) : [];
  const v6 = supportsIPv6(mode) ? addresses.filter((address) => familyOf(address) === 6) : [];
  if (mode === "Dual" && addresses[0] !== undefined) {
    const first = familyOf(addresses[0]);
    if (first !== 0) {
      return first === 4 ? v4 : v6;
    }
  }
  return v4.length > 0 ? v4 : v6;
}
