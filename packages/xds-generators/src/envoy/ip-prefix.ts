import { isIPv4, isIPv6 } from "node:net";

/** An address range; a single address has the full prefix length. */
export interface IpPrefix {
  /** In short form; bits beyond the prefix are kept. */
  readonly address: string;
  readonly bits: number;
  /** 4 or 16 bytes. */
  readonly bytes: Uint8Array;
}

/** Parses `10.0.0.0/8`, `10.1.2.3`, `2001:db8::/32` or `::1`. Rejects zones and leading zeros, as Go's netip does. */
export function parseIpPrefix(text: string): IpPrefix | undefined {
  const slash = text.indexOf("/");
  const host = slash < 0 ? text : text.slice(0, slash);
  const bytes = addressBytes(host);
  if (bytes === undefined) return undefined;
  const width = bytes.length * 8;
  const length = slash < 0 ? String(width) : text.slice(slash + 1);
  if (!/^(0|[1-9]\d*)$/.test(length) || Number(length) > width) return undefined;
  return { address: bytes.length === 4 ? host : formatIpv6(bytes), bits: Number(length), bytes };
}

/** Formats the range in canonical form, with zero bits beyond the prefix. */
export function formatMaskedPrefix(prefix: IpPrefix): string {
  const bytes = prefix.bytes.map((byte, i) => {
    const bits = Math.min(8, Math.max(0, prefix.bits - i * 8));
    return byte & (0xff << (8 - bits)) & 0xff;
  });
  return `${bytes.length === 4 ? bytes.join(".") : formatIpv6(bytes)}/${prefix.bits}`;
}

/** Compares as Go's netip does: IPv4 before IPv6, then by address, then by length. */
export function compareIpPrefixes(a: IpPrefix, b: IpPrefix): number {
  if (a.bytes.length !== b.bytes.length) return a.bytes.length - b.bytes.length;
  for (const [i, byte] of a.bytes.entries()) {
    const other = b.bytes[i] ?? 0;
    if (byte !== other) return byte - other;
  }
  return a.bits - b.bits;
}

function addressBytes(host: string): Uint8Array | undefined {
  if (isIPv4(host)) return Uint8Array.from(host.split("."), Number);
  if (!isIPv6(host) || host.includes("%")) return undefined;
  const [head = "", tail] = embeddedIpv4ToHex(host).split("::");
  const groups = (part: string): number[] =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const all = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Uint8Array.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

function embeddedIpv4ToHex(host: string): string {
  const last = host.slice(host.lastIndexOf(":") + 1);
  if (!last.includes(".")) return host;
  const [a = 0, b = 0, c = 0, d = 0] = last.split(".").map(Number);
  return `${host.slice(0, host.length - last.length)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

/** Formats as RFC 5952 says; IPv4-mapped addresses end in dotted decimal. */
function formatIpv6(bytes: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0));
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff)
    return `::ffff:${bytes.slice(12).join(".")}`;
  let start = -1;
  let length = 1;
  for (let i = 0; i < 8; i++) {
    let end = i;
    while (end < 8 && groups[end] === 0) end++;
    if (end - i > length) {
      start = i;
      length = end - i;
    }
    if (end > i) i = end;
  }
  const hex = groups.map((group) => group.toString(16));
  return start < 0 ? hex.join(":") : `${hex.slice(0, start).join(":")}::${hex.slice(start + length).join(":")}`;
}
