import { BlockList } from "node:net";
import { bareAddress } from "./bare-address.js";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Reports whether an address is of this machine, in IPv4, IPv6 or IPv4-mapped form. */
export function isLoopback(address: string | undefined): boolean {
  const { text, family } = bareAddress(address ?? "");
  return family !== undefined && loopback.check(text, family);
}
