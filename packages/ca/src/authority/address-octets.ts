import { isIPv4 } from "node:net";

/** Returns the octets of a valid IP address: 4 for IPv4, 16 for IPv6. */
export function addressOctets(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail] = withoutDottedPart(address.replace(/%.*$/, "")).split("::");
  const first = groups(head);
  const last = tail === undefined ? [] : groups(tail);
  const octets = Buffer.alloc(16);
  first.forEach((group, index) => octets.writeUInt16BE(group, 2 * index));
  last.forEach((group, index) => octets.writeUInt16BE(group, 16 - 2 * (last.length - index)));
  return octets;
}

function groups(text: string): number[] {
  return text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
}

/** Rewrites an address that ends in IPv4 notation, such as `::ffff:10.0.0.1`. */
function withoutDottedPart(address: string): string {
  const dotted = /[\d.]+$/.exec(address)?.[0];
  if (dotted === undefined || !isIPv4(dotted)) return address;
  return (
    address.slice(0, -dotted.length) +
    Buffer.from(dotted.split(".").map(Number))
      .toString("hex")
      .replace(/^(.{4})/, "$1:")
  );
}
