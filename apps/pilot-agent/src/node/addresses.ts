import { isIP, isIPv4, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

/**
 * Returns the workload's addresses, the primary one first: INSTANCE_IP, then those of the network interfaces. Without
 * any, returns loopback. A workload on a loopback address has no other, as it shares the machine.
 */
export function workloadAddresses(instanceIp: string, interfaces = networkInterfaces()): string[] {
  const primary = isIP(instanceIp) ? [instanceIp] : [];
  if (primary.length > 0 && isLoopback(instanceIp)) return primary;
  const found = Object.values(interfaces)
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !isLinkLocal(address) && address !== instanceIp)
    .map(({ address }) => address);
  const addresses = [...new Set([...primary, ...found])];
  return addresses.length > 0 ? addresses : ["127.0.0.1", "::1"];
}

/** Returns the IP families of a set of addresses. */
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
