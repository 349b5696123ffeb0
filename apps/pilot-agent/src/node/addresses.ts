import { isIP, isIPv4, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

/**
 * Returns the workload's addresses, first the one that istiod knows it by: INSTANCE_IP, then those of the machine's
 * interfaces, and loopback only where there is none. A workload on a loopback address has no other: the machine's
 * addresses belong to others.
 */
export function workloadAddresses(instanceIp: string, interfaces = networkInterfaces()): string[] {
  const own = isIP(instanceIp) ? [instanceIp] : [];
  if (own.length > 0 && isLoopback(instanceIp)) return own;
  const found = Object.values(interfaces)
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !isLinkLocal(address) && address !== instanceIp)
    .map(({ address }) => address);
  const addresses = [...new Set([...own, ...found])];
  return addresses.length > 0 ? addresses : ["127.0.0.1", "::1"];
}

/** Which versions of IP a set of addresses has. */
export function ipFamilies(addresses: readonly string[]): "v4" | "v6" | "both" {
  if (addresses.length > 0 && addresses.every((address) => isIPv6(address))) return "v6";
  return addresses.some((address) => isIPv6(address)) && addresses.some((address) => isIPv4(address)) ? "both" : "v4";
}

function isLoopback(address: string): boolean {
  return address.startsWith("127.") || address === "::1";
}

function isLinkLocal(address: string): boolean {
  return address.startsWith("169.254.") || /^fe[89ab]/i.test(address);
}
