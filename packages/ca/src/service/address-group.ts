import { isIPv6 } from "node:net";
import { addressOctets } from "../authority/address-octets.js";

/**
 * Returns the group of addresses that one host can choose from: an IPv4 address, or the /64 network of an IPv6 address.
 */
export function addressGroup(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  return isIPv6(address) ? `${addressOctets(address).toString("hex", 0, 8)}/64` : address;
}
