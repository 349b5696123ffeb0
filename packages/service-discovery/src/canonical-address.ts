import { isIPv6, SocketAddress } from "node:net";

/** Returns an address in the form in which addresses are compared: IPv6 addresses as in RFC 5952, others as given. */
export function canonicalAddress(address: string): string {
  return isIPv6(address) && !address.includes("%") ? new SocketAddress({ address, family: "ipv6" }).address : address;
}
