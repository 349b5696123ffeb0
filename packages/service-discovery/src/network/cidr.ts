import { BlockList, isIP } from "node:net";

/** Parses a CIDR; undefined if it is malformed. Bits after the prefix are ignored. */
export function parseCidr(text: string): BlockList | undefined {
  const slash = text.indexOf("/");
  const ip = text.slice(0, slash);
  const bits = text.slice(slash + 1);
  const family = slash < 0 ? 0 : isIP(ip);
  if (family === 0 || !/^(0|[1-9]\d{0,2})$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128)) return undefined;
  const list = new BlockList();
  list.addSubnet(ip, Number(bits), family === 4 ? "ipv4" : "ipv6");
  return list;
}

/** Reports whether the CIDR contains an address. Malformed addresses are in none. */
export function contains(set: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && set.check(address, family === 4 ? "ipv4" : "ipv6");
}
