import { isIP } from "node:net";

/** Returns the 4 or 16 bytes of an IP address without its zone; undefined for other text. */
export function ipBytes(address: string): readonly number[] | undefined {
  const text = address.replace(/%.*$/s, "");
  switch (isIP(text)) {
    case 4:
      return text.split(".").map(Number);
    case 6:
      return ipv6Bytes(text);
    default:
      return undefined;
  }
}

function ipv6Bytes(text: string): readonly number[] {
  const [before = "", after] = text.split("::");
  const head = groupBytes(before);
  if (after === undefined) return head;
  const tail = groupBytes(after);
  return [...head, ...Array.from({ length: 16 - head.length - tail.length }, () => 0), ...tail];
}

/** Returns the bytes of groups in hexadecimal, the last of which may be an IPv4 address. */
function groupBytes(text: string): readonly number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (group.includes(".")) return group.split(".").map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

/** Reports whether the first bits of an address are those of a prefix. */
export function hasPrefix(bytes: readonly number[], prefix: readonly number[], bits: number): boolean {
  if (bytes.length !== prefix.length) return false;
  const whole = Math.floor(bits / 8);
  for (let i = 0; i < whole; i++) if (bytes[i] !== prefix[i]) return false;
  const rest = bits % 8;
  const mask = (0xff << (8 - rest)) & 0xff;
  return rest === 0 || ((bytes[whole] ?? 0) & mask) === ((prefix[whole] ?? 0) & mask);
}
