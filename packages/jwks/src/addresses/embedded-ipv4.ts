import { hasPrefix, ipBytes } from "./ip-bytes.js";

/** A range of IPv6 addresses that stand for IPv4 addresses, and the offset of the IPv4 address in bytes. */
interface Embedding {
  readonly prefix: readonly number[];
  readonly bits: number;
  readonly offset: number;
}

/**
 * IPv4-mapped and IPv4-compatible addresses (RFC 4291, section 2.5.5), translated ones of NAT64 (RFC 6052, RFC 8215)
 * and SIIT (RFC 2765), and tunnels of 6to4 (RFC 3056). A router may deliver each to the IPv4 address.
 */
const embeddings: readonly Embedding[] = [
  embedding("::ffff:0:0", 96, 12),
  embedding("::ffff:0:0:0", 96, 12),
  embedding("::", 96, 12),
  embedding("64:ff9b::", 96, 12),
  embedding("64:ff9b:1::", 48, 12),
  embedding("2002::", 16, 2),
];

/** Teredo (RFC 4380) contains the client's IPv4 address with all bits inverted. */
const teredo = embedding("2001::", 32, 12);

/**
 * Returns the forms of an address to which the same rules apply: itself, and the IPv4 address that it contains. The
 * unspecified address connects to this machine, so its forms include the loopback address.
 */
export function equivalentAddresses(bytes: readonly number[]): readonly (readonly number[])[] {
  const inner = embeddings
    .filter(({ prefix, bits }) => hasPrefix(bytes, prefix, bits))
    .map(({ offset }) => bytes.slice(offset, offset + 4));
  if (hasPrefix(bytes, teredo.prefix, teredo.bits)) inner.push(bytes.slice(12).map((byte) => 0xff ^ byte));
  const all = [bytes, ...inner];
  return all.flatMap((each) => (each.every((byte) => byte === 0) ? [each, ...loopback] : [each]));
}

const loopback = [
  [127, 0, 0, 1],
  [...Array.from({ length: 15 }, () => 0), 1],
];

function embedding(prefix: string, bits: number, offset: number): Embedding {
  return { prefix: ipBytes(prefix) ?? [], bits, offset };
}
