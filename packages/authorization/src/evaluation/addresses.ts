import { BlockList, isIP } from "node:net";

/** Reports whether a value of `ipBlocks` is an address or a range. */
export function isAddressRange(value: string): boolean {
  const [address = "", bits, ...rest] = value.split("/");
  const family = isIP(address);
  if (family === 0 || address.includes("%") || rest.length > 0) return false;
  return bits === undefined || (/^(0|[1-9]\d*)$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/** Reports whether an address is in a range. IPv4-mapped IPv6 addresses are not IPv4 addresses, as in Envoy. */
export function isInRange(address: string, range: string): boolean {
  const [base = "", bits] = range.split("/");
  const family = isIP(base);
  if (family === 0 || isIP(address) !== family) return false;
  const type = family === 4 ? "ipv4" : "ipv6";
  const list = new BlockList();
  list.addSubnet(base, bits === undefined ? (family === 4 ? 32 : 128) : Number(bits), type);
  return list.check(address, type);
}
