import { bareAddress } from "./bare-address.js";

/**
 * Returns the group of addresses that one host can choose from: an IPv4 address, or the /64 network of an IPv6 address.
 * Limits that apply to each caller count groups. Other text, such as the path of a socket, is returned unchanged.
 */
export function addressGroup(address: string): string {
  const { text, family } = bareAddress(address);
  if (family === undefined) return address;
  return family === "ipv4" ? text : `${network(text)}::/64`;
}

/** Returns the first four groups of a valid IPv6 address. */
function network(address: string): string {
  const [before = "", after] = address.split("::");
  const first = before === "" ? [] : before.split(":");
  const last = after === undefined || after === "" ? [] : after.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  return [...first, ...zeros, ...last]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
